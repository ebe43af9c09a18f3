"""``mm2 sync-groups`` carries groups along from one place (CheckpointSink)."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result

from mm2.cli.mm2 import main
from mm2.core.internal_records import Checkpoint, OffsetSync
from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.core.translation.run_codec import encode_key, encode_value
from mm2.core.translation.runs import UNKNOWN_LOGS, Block, Logs, Run, Runs
from mm2.demo.broker_settings import free_ports
from mm2.kafka.admin import Admin
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.records import Sample, commit_group, create_topic, group_member, produce

pytestmark = pytest.mark.broker

MM2 = Path(sys.executable).with_name("mm2")


@dataclass(frozen=True)
class _Setup:
    """Clusters S, R and T; checkpoints of S and R stand on T, and those of T on S."""

    file: Path
    s: str
    r: str
    t: str
    on_s: str
    on_t: str

    @property
    def flows(self) -> list[str]:
        pairs = [(self.s, self.t), (self.r, self.t), (self.t, self.s)]
        return [word for source, target in pairs for word in ("--flow", f"{source}->{target}")]

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(main, ["sync-groups", str(self.file), *self.flows, *words])

    def write(
        self, source: str, group: str, topic: str, downstream: int, logs: Logs = UNKNOWN_LOGS
    ) -> None:
        """Writes a checkpoint, where the flows from ``source`` would."""
        where = TopicPartition(TopicName(topic), 0)
        each = Checkpoint(GroupId(group), where, downstream, downstream, "m", logs=logs)
        sample = Sample(key=each.key(), value=each.value(), headers=each.headers())
        cluster = self.on_s if source == self.t else self.on_t
        produce(cluster, f"{source}.checkpoints.internal", [sample])


@pytest.fixture
def setup(cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path) -> _Setup:
    s, r, t = (f"{letter}{unique[-8:]}" for letter in "SRT")
    for topic in (f"{s}.t", f"{r}.t"):
        create_topic(cluster_b.bootstrap, topic)
        produce(cluster_b.bootstrap, topic, [Sample(value=b"x")] * 60)
    create_topic(cluster_a.bootstrap, f"{unique}-t")
    produce(cluster_a.bootstrap, f"{unique}-t", [Sample(value=b"x")] * 70)
    for source, cluster in ((s, cluster_b), (r, cluster_b), (t, cluster_a)):
        create_topic(cluster.bootstrap, f"{source}.checkpoints.internal")
    file = tmp_path / "mm2.properties"
    file.write_text(
        f"clusters = {s}, {r}, {t}\n{s}.bootstrap.servers = {cluster_a.bootstrap}\n"
        f"{r}.bootstrap.servers = 127.0.0.1:{free_ports(1)[0]}\n"
        f"{t}.bootstrap.servers = {cluster_b.bootstrap}\n"
    )
    return _Setup(file, s, r, t, cluster_a.bootstrap, cluster_b.bootstrap)


def _offsets(bootstrap: str, group: str) -> dict[str, int]:
    async def listed() -> dict[str, int]:
        admin = Admin("x", {"bootstrap.servers": bootstrap})
        try:
            found = await admin.list_group_offsets(group)
        finally:
            await admin.close()
        return {where.topic: offset.offset for where, offset in found.items()}

    return asyncio.run(listed())


def test_groups_follow_checkpoints_of_several_clusters_down_and_up(
    setup: _Setup, unique: str
) -> None:
    """C301, C309, and upstream; R itself is never asked."""
    group, behind, ahead = unique, f"{unique}-behind", f"{unique}-ahead"
    commit_group(setup.on_t, behind, {(f"{setup.s}.t", 0): 10})
    commit_group(setup.on_t, ahead, {(f"{setup.s}.t", 0): 99})
    for each in (group, behind, ahead):
        setup.write(setup.s, each, f"{setup.s}.t", 50)
    setup.write(setup.r, group, f"{setup.r}.t", 60)
    setup.write(setup.t, group, f"{unique}-t", 70)

    shown = setup.run("--group", f"{unique}.*", "--format", "json")
    assert shown.exit_code == 0, shown.stderr
    assert {row["state"] for row in json.loads(shown.stdout)} == {"would be written"}
    assert _offsets(setup.on_t, group) == {}, "nothing happens unless --execute is given"

    done = setup.run("--group", f"{unique}.*", "--execute", "--once", "--format", "json")
    assert done.exit_code == 0, done.stderr
    rows = {
        (row["cluster"], row["group"], row["topic"]): (row["before"], row["after"])
        for row in json.loads(done.stdout)
    }
    assert rows == {
        (setup.t, group, f"{setup.s}.t"): (None, 50),
        (setup.t, group, f"{setup.r}.t"): (None, 60),
        (setup.t, behind, f"{setup.s}.t"): (10, 50),
        (setup.s, group, f"{unique}-t"): (None, 70),
    }
    assert _offsets(setup.on_t, group) == {f"{setup.s}.t": 50, f"{setup.r}.t": 60}
    assert _offsets(setup.on_t, behind) == {f"{setup.s}.t": 50}
    assert _offsets(setup.on_t, ahead) == {f"{setup.s}.t": 99}
    assert _offsets(setup.on_s, group) == {f"{unique}-t": 70}
    again = setup.run("--execute", "--once", "--format", "json", "--group", f"{unique}.*")
    assert (again.exit_code, json.loads(again.stdout)) == (0, [])


def test_a_group_with_members_is_left_alone(setup: _Setup, unique: str) -> None:
    """C309."""
    topic = f"{setup.s}.t"
    setup.write(setup.s, unique, topic, 50)
    with group_member(setup.on_t, unique, [topic]):
        done = setup.run("--execute", "--once", "--format", "tsv", "--group", unique)
    assert done.exit_code == 0, done.stderr
    (row,) = done.stdout.splitlines()[1:]
    assert row.split("\t")[-1] == "active"
    assert _offsets(setup.on_t, unique) == {}


def test_one_cluster_that_is_away_does_not_hold_up_the_others(
    setup: _Setup, unique: str, tmp_path: Path
) -> None:
    del tmp_path
    text = setup.file.read_text()
    away = f"{setup.r}.admin.default.api.timeout.ms = 1000\n"
    setup.file.write_text(text + away)
    setup.write(setup.s, unique, f"{setup.s}.t", 50)
    words = ["sync-groups", str(setup.file), "--execute", "--once", "--group", unique]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 3
    assert f"cluster {setup.r}:" in done.stderr
    assert _offsets(setup.on_t, unique) == {f"{setup.s}.t": 50}


def test_groups_that_have_read_on_in_copies_are_led_upstream(setup: _Setup, unique: str) -> None:
    """KIP-382's CheckpointSink: no worker at the source, and nobody writes checkpoints there."""
    topic = f"{unique}-t"
    moved, carried, anew = (f"{unique}-{name}" for name in ("moved", "carried", "anew"))
    where, copy = TopicPartition(TopicName(topic), 0), f"{setup.s}.{topic}"
    syncs, runs = (f"mm2-offset-{kind}.{setup.t}.internal" for kind in ("syncs", "runs"))
    for each in (syncs, runs):
        create_topic(setup.on_s, each)
    create_topic(setup.on_t, copy)
    sync = OffsetSync(where, 0, 0)
    produce(setup.on_s, syncs, [Sample(key=sync.key(), value=sync.value())])
    block = Block(start=0, end=100, runs=Runs([Run(0, 0, 40), Run(60, 40, 40)]), is_fresh=True)
    produce(setup.on_s, runs, [Sample(key=encode_key(where, 0), value=encode_value(block))])
    for group in (moved, carried):
        setup.write(setup.s, group, copy, 30)
    for at in (70, 0):
        setup.write(setup.s, anew, copy, at, Logs(uuid4(), uuid4()))
    commit_group(setup.on_t, anew, {(copy, 0): 39})
    commit_group(setup.on_t, moved, {(copy, 0): 45})
    commit_group(setup.on_t, carried, {(copy, 0): 30})
    words = ["sync-groups", str(setup.file), "--flow", f"{setup.s}->{setup.t}"]
    words += ["--back", f"{setup.s}->{setup.t}", "--group", f"{unique}.*"]
    done = CliRunner().invoke(main, [*words, "--execute", "--once", "--format", "json"])
    assert done.exit_code == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {(row["cluster"], row["topic"], row["before"]) for row in rows} == {
        (setup.s, topic, None)
    }
    # 45 in the copy is 65 at the source, behind a gap there; the other group was carried to 70 in
    # topics that are gone.
    assert {row["group"]: row["after"] for row in rows} == {moved: 65, anew: 39}
    assert _offsets(setup.on_s, moved) == {topic: 65}
    assert _offsets(setup.on_s, carried) == {}, "it was given its offset, and has not read on"


def test_it_goes_on_until_it_is_told_to_stop(setup: _Setup, unique: str, tmp_path: Path) -> None:
    topic, log = f"{setup.s}.t", tmp_path / "said"

    def synced() -> int:
        return log.read_text().count('"group_offsets.synced"')

    command = [str(MM2), "sync-groups", str(setup.file), *setup.flows, "--execute"]
    with (
        log.open("w") as output,
        subprocess.Popen(
            [*command, "--interval", "0.5", "--group", unique],
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        try:
            for downstream in (50, 60):
                setup.write(setup.s, unique, topic, downstream)
                eventually(
                    lambda: _offsets(setup.on_t, unique),
                    until=lambda found, at=downstream: found == {topic: at},  # type: ignore[misc]
                )
            # A stop may come between a commit and the line about it.
            eventually(synced, until=lambda count: count == 2)
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "")
    assert synced() == 2
