"""``mm2 heartbeats`` and ``mm2 hops``: what arrives on clusters, whoever runs the flows."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mm2.cli.mm2 import main
from mm2.core.internal_records import Heartbeat
from mm2.core.model import ClusterAlias
from mm2.demo.broker_settings import free_ports
from mm2.kafka.admin import Admin
from tests.support.cluster import Cluster
from tests.support.eventually import eventually_async
from tests.support.mirror import properties
from tests.support.records import Sample, produce
from tests.support.watched import watched

pytestmark = [pytest.mark.broker, pytest.mark.timeout(240)]

_HOUR_MS = 3_600_000
_AHEAD_MS = -600_000
"""Age of a heartbeat that stays alive for as long as the slowest machine needs."""
_MM2 = Path(sys.executable).with_name("mm2")


@dataclass(frozen=True)
class _Pair:
    """A file about two clusters that nobody mirrors from here."""

    file: Path
    source: str
    target: str
    bootstrap: str

    def run(self, command: str, *words: str) -> Result:
        return CliRunner().invoke(main, [command, str(self.file), *words])

    def rows(self, command: str, *words: str) -> list[dict[str, Any]]:
        result = self.run(command, *words, "--format", "json")
        assert result.exit_code == 0, result.output
        found: list[dict[str, Any]] = json.loads(result.stdout)
        return found

    def beat(self, topic: str, source: str, target: str, *, age_ms: int) -> None:
        now_ms = time.time_ns() // 1_000_000
        beat = Heartbeat(ClusterAlias(source), ClusterAlias(target), now_ms - age_ms)
        sample = Sample(key=beat.key(), value=beat.value(), timestamp_ms=beat.timestamp_ms)
        asyncio.run(_made(self.bootstrap, topic))
        produce(self.bootstrap, topic, [sample])

    def without(self, *aliases: str) -> None:
        """Nobody answers any more where these clusters were."""
        for alias, port in zip(aliases, free_ports(len(aliases)), strict=True):
            text = f"{self.file.read_text()}{alias}.bootstrap.servers = 127.0.0.1:{port}\n"
            self.file.write_text(text)


async def _made(bootstrap: str, topic: str) -> None:
    admin = Admin("T", {"bootstrap.servers": bootstrap})
    try:
        # As mirrors make it: others use the cluster, and may be there later.
        compact = {"cleanup.policy": "compact"}
        await admin.create_internal_topic(
            topic, partitions=1, replication_factor=1, configs=compact
        )
        await eventually_async(admin.list_topics, until=lambda names: topic in names)
    finally:
        await admin.close()


@pytest.fixture
def pair(cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path) -> _Pair:
    source, target = f"s{unique[-8:]}", f"t{unique[-8:]}"
    file = tmp_path / "mm2.properties"
    clusters = {source: cluster_a.bootstrap, target: cluster_b.bootstrap}
    file.write_text(properties(clusters, {f"{source}->{target}.enabled": "true"}))
    return _Pair(file, source, target, cluster_b.bootstrap)


def test_a_flow_is_judged_by_its_heartbeats_and_those_that_it_copies(pair: _Pair) -> None:
    """C318; a heartbeat of two hours ago is far behind those of others that go on."""
    source, target = pair.source, pair.target
    flow, back = f"{source}->{target}", f"{target}->{source}"
    pair.beat("heartbeats", source, target, age_ms=2 * _HOUR_MS)
    pair.beat("heartbeats", "other", target, age_ms=_AHEAD_MS)
    pair.beat(f"{source}.heartbeats", target, source, age_ms=_AHEAD_MS)
    own, copied = pair.rows("heartbeats", "--flow", flow)
    assert (own["flow"], own["way"], own["hops"]) == (flow, target, 0)
    assert (own["alive"], own["expected"]) == (False, True)
    assert 0 <= own["age_ms"] - 2 * _HOUR_MS < _HOUR_MS
    assert (copied["flow"], copied["way"], copied["hops"]) == (back, flow, 1)
    assert (copied["alive"], copied["expected"]) == (True, True)

    def status(max_age: str) -> int:
        return pair.run("heartbeats", "--flow", flow, "--max-age", max_age).exit_code

    assert [status(max_age) for max_age in ("PT3H", "60")] == [0, 1]
    strangers = [row for row in pair.rows("heartbeats") if row["flow"] == f"other->{target}"]
    assert [(row["alive"], row["expected"]) for row in strangers] == [(True, False)]


def test_a_heartbeat_that_never_came_is_missing(pair: _Pair) -> None:
    flow = f"{pair.source}->{pair.target}"
    result = pair.run("heartbeats", "--flow", flow, "--max-age", "PT1H", "--format", "tsv")
    assert result.exit_code == 1
    back = f"{pair.target}->{pair.source}"
    assert result.stdout.splitlines() == [
        "flow\tway\thops\tlast\tage_ms\talive\texpected",
        f"{flow}\t{pair.target}\t0\t-\t-\tfalse\ttrue",
        f"{back}\t{flow}\t1\t-\t-\tfalse\ttrue",
    ]


def test_a_cluster_that_is_away_is_named_and_the_others_are_shown(pair: _Pair) -> None:
    pair.beat("heartbeats", pair.source, pair.target, age_ms=0)
    pair.without(pair.source)
    result = pair.run("heartbeats", "--max-age", "PT1H")
    assert result.exit_code == 1, "what is not known is not alive"
    assert f"cluster {pair.source}: no answer" in result.stderr
    assert f"{pair.source}->{pair.target}" in result.stdout
    pair.without(pair.source, pair.target)
    command = [str(_MM2), "hops", str(pair.file)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout) == (3, "")
    said = [line.partition(": no answer: 127.0.0.1:")[0] for line in told.stderr.splitlines()]
    sentences = [f"cluster {alias}" for alias in (pair.source, pair.target)]
    assert said == sentences, "and nothing of what client libraries say"


def test_hops_are_those_of_the_nearest_heartbeats(pair: _Pair) -> None:
    far = f"c{pair.source}"
    for topic in (f"{pair.source}.{far}.heartbeats", f"{pair.source}.heartbeats"):
        asyncio.run(_made(pair.bootstrap, topic))
    rows = pair.rows("hops", "--cluster", pair.target)
    found = {row["upstream"]: (row["cluster"], row["hops"], row["topic"]) for row in rows}
    assert found[pair.source] == (pair.target, 1, f"{pair.source}.heartbeats")
    assert found[far] == (pair.target, 2, f"{pair.source}.{far}.heartbeats")


@pytest.mark.parametrize(
    ("command", "column"),
    [
        ("heartbeats", "hops"),
        ("hops", "upstream"),
        ("groups", "mirror_lag"),
        ("checkpoints", "downstream"),
    ],
)
def test_what_it_shows_can_be_watched(
    pair: _Pair, tmp_path: Path, command: str, column: str
) -> None:
    output = tmp_path / "seen.tsv"
    assert watched([command, str(pair.file), "--format", "tsv"], column, output) == 0
    assert "Traceback" not in output.read_text()
