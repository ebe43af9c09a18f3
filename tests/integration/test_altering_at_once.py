"""Those who alter a flow at the same time do not undo each other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from mm2.config.flow_config import FlowConfig
from mm2.driver.flows_of_file import load_flows
from mm2.errors import ConfigErrors
from mm2.herder.control.flow_commands import FlowCommands
from mm2.kafka.flow_clusters import admin_clients
from mm2.kafka.logs.read_log import Record, read_to_end
from mm2.kafka.writer import Writer
from mm2.protocol.control_backlog import ControlBacklog
from mm2.protocol.control_codec import ALTERATIONS_KEY
from tests.support.cluster import Cluster
from tests.support.mirror import properties

pytestmark = pytest.mark.broker


class _Late(FlowCommands):
    """Commands of somebody whom others forestall when everything is ready to be written."""

    meanwhile: Callable[[], Awaitable[object]]

    @asynccontextmanager
    async def _writer(self) -> AsyncIterator[Writer]:
        async with super()._writer() as writer:
            await self.meanwhile()
            yield writer


class _Counting(FlowCommands):
    """Commands that count how often they read the control topic; others write after the first."""

    meanwhile: Callable[[], Awaitable[object]] | None = None
    reads = 0

    async def _read(self) -> ControlBacklog:
        backlog = await super()._read()
        self.reads += 1
        if self.meanwhile is not None:
            await self.meanwhile()
        return backlog

    def _read_after(self, offset: int) -> AsyncIterator[Record]:
        self.reads += 1
        return super()._read_after(offset)


def _flow(a: Cluster, b: Cluster, alias: str, file: Path) -> FlowConfig:
    clusters = {alias: a.bootstrap, "B": b.bootstrap}
    file.write_text(properties(clusters, {f"{alias}->B.enabled": "true"}))
    (config,) = [each for each in load_flows(file, None) if each.source.enabled]
    return config


async def _said(config: FlowConfig) -> list[dict[str, object]]:
    """All that was ever altered, as it stands in the control topic."""
    consumer, topic = config.herder.client("consumer", "c"), config.herder.names.control_topic
    records = await read_to_end(config.flow.target, consumer, topic)
    values = [each.value for each in records if each.key == ALTERATIONS_KEY and each.value]
    return [json.loads(value).get("changes") for value in values]


def test_an_alteration_never_takes_back_what_was_altered_before_it_is_written(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """A leader would follow it at once: what is excluded is not to be copied for a moment."""
    config = _flow(cluster_a, cluster_b, f"L{unique[-8:]}", tmp_path / "mm2.properties")

    async def work() -> None:
        async with admin_clients(config) as clusters:
            late, other = _Late(config, clusters), FlowCommands(config, clusters)
            late.meanwhile = lambda: other.alter({"topics.exclude": "secret.*"})
            await late.alter({"tasks.max": "6"})

    asyncio.run(work())
    both = {"topics.exclude": "secret.*", "tasks.max": "6"}
    assert asyncio.run(_said(config)) == [{"topics.exclude": "secret.*"}, both]


def test_an_alteration_by_what_is_altered_reads_the_control_topic_once_or_twice(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """As ``PUT /connectors/{name}/config`` does; a second time only if others write meanwhile."""
    config = _flow(cluster_a, cluster_b, f"R{unique[-8:]}", tmp_path / "mm2.properties")

    async def work() -> tuple[int, int, list[str]]:
        async with admin_clients(config) as clusters:
            other = FlowCommands(config, clusters)
            await other.alter({"tasks.max": "3"})
            alone, contended = _Counting(config, clusters), _Counting(config, clusters)
            await alone.alter_by(lambda altered: ({"tasks.max": "4"}, set(altered) - {"tasks.max"}))
            contended.meanwhile = lambda: other.alter({"topics": "orders"})
            done = await contended.alter_by(lambda altered: ({"groups": "g"}, list(altered)))
            assert done is not None
            return alone.reads, contended.reads, list(done.notes)

    alone, contended, notes = asyncio.run(work())
    assert (alone, contended) == (1, 2)
    assert "both changes hold" in "".join(notes)
    assert asyncio.run(_said(config))[-1] == {"topics": "orders", "groups": "g"}


def test_what_a_newer_release_has_altered_is_not_altered_by_an_older_one(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    config = _flow(cluster_a, cluster_b, f"N{unique[-8:]}", tmp_path / "mm2.properties")

    async def work() -> None:
        async with admin_clients(config) as clusters:
            commands = _Late(config, clusters)

            async def by_a_newer_release() -> None:
                properties = config.herder.client("producer", "p")
                async with Writer(config.flow.target, properties) as writer:
                    topic = config.herder.names.control_topic
                    await writer.send(topic, ALTERATIONS_KEY, b'{"version":2}', partition=0)

            commands.meanwhile = by_a_newer_release
            for asked in (commands.alter({"topics": "t"}), commands.alter({}), commands.reset()):
                with pytest.raises(ConfigErrors, match="a newer release has altered the flow"):
                    await asked

    asyncio.run(work())
    assert set(asyncio.run(_said(config))) == {None}, "nothing was written over it"


def test_what_two_alter_at_the_same_time_both_holds_and_is_explained(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    alias = f"S{unique[-8:]}"
    file = tmp_path / "mm2.properties"
    config = _flow(cluster_a, cluster_b, alias, file)

    async def work() -> dict[str, str | None]:
        async with admin_clients(config) as clusters:
            commands = FlowCommands(config, clusters)
            await commands.alter({"tasks.max": "3", "offset.lag.max": "5"})
            await asyncio.gather(
                commands.alter({"topics": "orders"}),
                commands.alter({"groups": "g"}, reset=["offset.lag.max"]),
            )
            return dict((await commands.desired_state()).alterations.changes)

    assert asyncio.run(work()) == {"tasks.max": "3", "topics": "orders", "groups": "g"}
    words = ["config", "explain", str(file), "--flow", f"{alias}->B", "--key", "tasks.max"]
    for live, value in ((["--live"], "3"), ([], "2")):
        result = CliRunner().invoke(main, [*words, *live, "--format", "json"])
        assert result.exit_code == 0, result.output
        (source,) = [s for s in json.loads(result.stdout) if s["part"] == "MirrorSourceConnector"]
        shown = {line["key"]: line["value"] for line in source["settings"]}
        assert shown["tasks.max"] == value
