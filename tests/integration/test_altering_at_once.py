"""Those who alter a flow at the same time do not undo each other."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from mm2.driver.flows_of_file import load_flows
from mm2.herder.clusters import admin_clients
from mm2.herder.commands import FlowCommands
from tests.support.cluster import Cluster
from tests.support.mirror import properties

pytestmark = pytest.mark.broker


def test_what_two_alter_at_the_same_time_both_holds_and_is_explained(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    alias = f"S{unique[-8:]}"
    file = tmp_path / "mm2.properties"
    clusters = {alias: cluster_a.bootstrap, "B": cluster_b.bootstrap}
    file.write_text(properties(clusters, {f"{alias}->B.enabled": "true"}))
    (config,) = [each for each in load_flows(file, None) if each.source.enabled]

    async def work() -> dict[str, str | None]:
        async with admin_clients(config) as clusters:
            commands = FlowCommands(config, clusters)
            await commands.alter({"tasks.max": "3", "offset.lag.max": "5"})
            await asyncio.gather(
                commands.alter({"topics": "orders"}),
                commands.alter({"groups": "g"}, reset=["offset.lag.max"]),
            )
            return dict((await commands.steering()).alterations.changes)

    assert asyncio.run(work()) == {"tasks.max": "3", "topics": "orders", "groups": "g"}
    words = ["config", "explain", str(file), "--flow", f"{alias}->B", "--key", "tasks.max"]
    for live, value in ((["--live"], "3"), ([], "2")):
        result = CliRunner().invoke(main, [*words, *live, "--format", "json"])
        assert result.exit_code == 0, result.output
        (source,) = [s for s in json.loads(result.stdout) if s["part"] == "MirrorSourceConnector"]
        shown = {line["key"]: line["value"] for line in source["settings"]}
        assert shown["tasks.max"] == value
