"""A user's classes: one object for a configuration, closed once when nobody uses it (C097)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from flows.checkpoint.checkpoint_flow import run_checkpoints
from flows.heartbeat.heartbeat_flow import run_heartbeats
from mm2.config.flow_config import FlowConfig
from mm2.config.keys.effects import Effect
from mm2.config.overrides import apply_valid_overrides
from mm2.driver.flows_of_file import load_flows
from mm2.herder.control.control_topic import ControlTopicState
from mm2.herder.election.leadership_term import LeadershipTerm
from mm2.herder.flow_classes import HeldClasses
from mm2.herder.herder import FlowHerder
from mm2.herder.leader_flow import LeaderFlow
from mm2.herder.source_controller import SourceController
from mm2.kafka.flow_clusters import admin_clients
from mm2.kafka.logs.records import Record
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.command_records import Alterations
from mm2.protocol.control_codec import encode_control
from mm2.user_code import wait_closed
from tests.support.cluster import Cluster
from tests.support.counted_classes import WRITTEN_TO, Lives, lives, names
from tests.support.eventually import eventually_async
from tests.support.mirror import ROOT, Mirror, properties
from tests.support.records import consume, create_topic, numbered, produce
from tests.support.runners import EndlessRunner

_WITHIN_S = 60.0
_CLASSES = sorted(name.rpartition(":")[2] for name in names.values())


class _Nothing(EndlessRunner):
    """Runs no bundle."""

    async def run(self, spec: BundleSpec) -> dict[str, int]:
        """Is never asked to."""
        raise NotImplementedError(spec)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the classes write."""
    file = tmp_path / "classes.jsonl"
    file.touch()
    monkeypatch.setenv(WRITTEN_TO, str(file))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return file


def _config(folder: Path, **settings: str) -> FlowConfig:
    """A flow whose clusters do not answer."""
    file = folder / "mm2.properties"
    lines = {
        "clusters": "A, B",
        "A->B.enabled": "true",
        "A->B.emit.heartbeats.enabled": "false",
        "B->A.emit.heartbeats.enabled": "false",
        "A.bootstrap.servers": "127.0.0.1:1",
        "B.bootstrap.servers": "127.0.0.1:1",
        **names,
        **settings,
    }
    file.write_text("".join(f"{key} = {value}\n" for key, value in lines.items()))
    (config,) = load_flows(file, None)
    return config


def _of(file: Path) -> Lives:
    wait_closed()
    found = lives(file, os.getpid())
    assert found.most_at_once <= 1
    assert not found.closed_again
    return found


def _labels(found: Lives) -> set[str]:
    return {label for _, _, label in found.created}


def _created_for(found: Lives, label: str) -> dict[str, list[int]]:
    """How many objects each configuration with these topics had, by class."""
    return {
        name: sorted(n for (each, _, of), n in found.created.items() if (each, of) == (name, label))
        for name in _CLASSES
    }


_ONE_EACH = {name: [1, 1] for name in _CLASSES}
"""The connectors of mirroring and of checkpoints have a configuration each, as in Java."""


def test_a_flow_creates_each_once_and_closes_what_another_file_replaces(
    tmp_path: Path, written: Path
) -> None:
    async def work() -> None:
        herder = FlowHerder(
            _config(tmp_path, topics="one"),
            runner=_Nothing(),
            heartbeats=run_heartbeats,
            checkpoints=run_checkpoints,
            worker_id="node",
        )
        running = asyncio.create_task(herder.run())
        await eventually_async(lambda: _waiting(written, "one -"))
        herder.reconfigure(_config(tmp_path, topics="two"))
        await eventually_async(lambda: _waiting(written, "two -"))
        herder.stop()
        async with asyncio.timeout(_WITHIN_S):
            await running

    asyncio.run(work())
    found = _of(written)
    assert not found.open
    assert _created_for(found, "one -") == _created_for(found, "two -") == _ONE_EACH


async def _waiting(file: Path, label: str) -> bool:
    """Whether all objects for this configuration are there, and no others."""
    found = await asyncio.to_thread(_of, file)
    return _created_for(found, label) == _ONE_EACH and len(found.open) == 2 * len(_CLASSES)


def test_an_alteration_closes_what_it_replaces_once_nobody_uses_it(
    tmp_path: Path, written: Path
) -> None:
    config = _config(tmp_path, topics="one")

    async def work() -> None:
        board = ControlTopicState("B", {}, "control")
        term = LeadershipTerm(config, board, Writer("B", {}), epoch=1, advance=lambda: None)
        with HeldClasses() as classes:
            flow = LeaderFlow(
                runner=_Nothing(),
                heartbeats=run_heartbeats,
                checkpoints=run_checkpoints,
                term=term,
                on_failure=lambda *_: None,
                classes=classes,
            )
            running = asyncio.create_task(flow.run())
            await eventually_async(lambda: _open(written, {"one -"}))
            _alter(board, {"tasks.max": "7"})
            await eventually_async(lambda: _open(written, {"one -", "one 7"}))
            _alter(board, {"tasks.max": "8"})
            await eventually_async(lambda: _open(written, {"one -", "one 8"}))
            term.stopping.set()
            async with asyncio.timeout(_WITHIN_S):
                await running

    asyncio.run(work())
    found = _of(written)
    assert not found.open
    labels = ("one -", "one 7", "one 8")
    assert [_created_for(found, label) for label in labels] == [_ONE_EACH] * 3


def _alter(board: ControlTopicState, changes: Mapping[str, str]) -> None:
    key, value = encode_control(Alterations(changes=dict(changes)))
    board._take(
        Record(topic="control", partition=0, offset=0, timestamp_ms=0, key=key, value=value)
    )


async def _open(file: Path, labels: set[str]) -> bool:
    """Whether there are objects for these configurations, of the file and the present one, only."""
    return (await asyncio.to_thread(_of, file)).labels_open == labels


def test_what_looks_at_topics_keeps_what_it_was_made_with(tmp_path: Path, written: Path) -> None:
    """Another setting that does not concern it has others made, and it goes on with its own."""
    config = _config(tmp_path, topics="one")
    limited = apply_valid_overrides(config, {"tasks.max": "7"}).config
    other = apply_valid_overrides(config, {"topics": "two"}).config

    async def work() -> None:
        async with admin_clients(config) as clusters:
            with HeldClasses(config) as classes:
                term = LeadershipTerm(
                    config,
                    ControlTopicState("B", {}, "control"),
                    Writer("B", {}),
                    epoch=1,
                    advance=lambda: None,
                )
                flow = SourceController(
                    config, clusters, _Nothing(), term, on_failure=lambda *_: None
                )
                classes.take(limited)
                flow.reconfigure(limited, frozenset({Effect.SHARES}))
                before = _of(written)
                assert {"Policy", "Topics", "Properties"} == {who[1] for who in before.open}
                classes.take(other)
                flow.reconfigure(other, frozenset({Effect.TOPICS}))
                assert _of(written).labels_open == {"two -"}
                term.stopping.set()
                await flow.run()

    asyncio.run(work())
    assert not _of(written).open


@pytest.mark.broker
@pytest.mark.spark
@pytest.mark.timeout(300)
def test_a_mirror_closes_each_once_when_it_is_altered_and_stopped(
    tmp_path: Path,
    written: Path,
    unique: str,
    cluster_a: Cluster,
    cluster_b: Cluster,
) -> None:
    first, second = f"{unique}-1", f"{unique}-2"
    for topic in (first, second):
        create_topic(cluster_a.bootstrap, topic)
        produce(cluster_a.bootstrap, topic, numbered(0, 5))
    # A flow of its own: the alteration stays in the control topic.
    source, target = f"s{unique[-8:]}", f"t{unique[-8:]}"
    clusters = {source: cluster_a.bootstrap, target: cluster_b.bootstrap}
    flow = {
        f"{source}->{target}.enabled": "true",
        f"{target}->{source}.emit.heartbeats.enabled": "false",
    }
    text = properties(clusters, {**flow, "topics": first, **names})
    with Mirror(tmp_path, text) as mirror:
        consume(cluster_b.bootstrap, f"{source}.{first}", 5, timeout=100)
        command = [str(Path(sys.executable).with_name("mm2")), "flows", "alter"]
        both = f"topics={first}|{second}"
        altering = subprocess.Popen([*command, str(mirror.file), both, "--execute"])
        assert altering.wait(100) == 0
        consume(cluster_b.bootstrap, f"{source}.{second}", 5, timeout=100)
        assert mirror.stop() == 0
    for pid in (mirror.process.pid, altering.pid):
        found = lives(written, pid)
        assert found.created
        assert not found.open
        assert not found.closed_again
        assert found.most_at_once == 1
    # The start checks the file, and then the flow runs with it.
    counts = lives(written, mirror.process.pid).created
    assert {n for (_, _, of), n in counts.items() if of == f"{first}|{second} 2"} == {1}
    assert max(counts.values()) == 2
