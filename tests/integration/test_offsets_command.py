"""``mm2 offsets``: what an operator sees and changes, behaviours 5.8 (KIP-875)."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import pytest
from click.testing import CliRunner, Result

from mm2.cli.mm2 import main
from mm2.core.model import TopicName, TopicPartition
from mm2.core.murmur2 import partition_for
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.demo.broker_settings import free_ports
from mm2.kafka.admin import Admin
from mm2.protocol.progress_records import BundleProgress, encode_progress
from tests.support.cluster import Cluster
from tests.support.groups import join_as_connect_worker
from tests.support.mirror import Mirror, properties
from tests.support.raw import log_of, records_in
from tests.support.records import Sample, commit_group, consume, create_topic, produce

pytestmark = pytest.mark.broker


@dataclass(frozen=True)
class _Flow:
    """A flow that nobody runs, with a topic of two partitions of ten records each."""

    file: Path
    source: str
    topic: str
    target: str
    since_ms: int

    def run(self, command: str, *words: str) -> Result:
        return CliRunner().invoke(main, ["offsets", command, str(self.file), *words])

    def ok(self, command: str, *words: str) -> str:
        result = self.run(command, *words)
        assert result.exit_code == 0, result.output
        return result.stdout

    def positions(self) -> dict[int, int]:
        lines = self.ok("list", "--topic", self.topic, "--format", "tsv").splitlines()[1:]
        return {int(line.split("\t")[1]): int(line.split("\t")[2]) for line in lines}

    def entry(self, partition: object, offset: object) -> dict[str, object]:
        if isinstance(partition, int):
            partition = {"topic": self.topic, "partition": partition, "cluster": self.source}
        return {"partition": partition, "offset": offset}


@pytest.fixture
def flow(cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path) -> _Flow:
    source = f"S{unique[-8:]}"
    create_topic(cluster_a.bootstrap, unique, 2)
    # Old records would be deleted by and by.
    since_ms = time.time_ns() // 1_000_000 - 1000
    samples = [
        Sample(value=b"%d" % n, partition=n % 2, timestamp_ms=since_ms + n) for n in range(20)
    ]
    produce(cluster_a.bootstrap, unique, samples)
    file = tmp_path / "mm2.properties"
    clusters = {source: cluster_a.bootstrap, "T": cluster_b.bootstrap}
    settings = {
        f"{source}->T.enabled": "true",
        "topics": unique,
        "emit.heartbeats.enabled": "false",
        "heartbeats.replication.enabled": "false",
    }
    file.write_text(properties(clusters, settings))
    return _Flow(file, source, unique, cluster_b.bootstrap, since_ms)


def test_positions_are_moved_shown_and_deleted(flow: _Flow, tmp_path: Path) -> None:
    """C196-C204, before the flow has ever run."""
    assert flow.positions() == {}
    shown = flow.ok("alter", "--topic", flow.topic, "--to-offset", "4")
    assert [line.split() for line in shown.splitlines()] == [
        ["TOPIC", "PARTITION", "POSITION", "NEW", "NEXT"],
        [flow.topic, "0", "-", "3", "4"],
        [flow.topic, "1", "-", "3", "4"],
    ]
    assert flow.positions() == {}, "nothing happens unless --execute is given"

    def altered(*words: str) -> dict[int, int]:
        flow.ok("alter", *words, "--execute")
        return flow.positions()

    assert altered("--topic", flow.topic, "--to-offset", "4") == {0: 3, 1: 3}
    assert altered("--topic", f"{flow.topic}:1", "--shift-by", "-2") == {0: 3, 1: 1}
    assert altered("--all-topics", "--shift-by", "100") == {0: 9, 1: 9}
    assert altered("--topic", f"{flow.topic}:0", "--to-earliest") == {0: -1, 1: 9}
    moment = datetime.fromtimestamp(flow.since_ms / 1000, UTC) + timedelta(milliseconds=11)
    assert altered("--all-topics", "--to-datetime", moment.isoformat()) == {0: 5, 1: 4}
    assert altered("--topic", flow.topic, "--to-latest") == {0: 9, 1: 9}

    document = json.loads(flow.ok("list", "--format", "json"))
    assert document == {"offsets": [flow.entry(n, {"offset": 9}) for n in (0, 1)]}
    document["offsets"][0]["offset"] = {"offset": 2}
    document["offsets"][1]["offset"] = None
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps(document))
    assert altered("--file", str(file)) == {0: 2}
    place = partition_for(_key(flow, 1), 5)
    log = log_of(flow.target, f"mm2-offsets.{flow.source}.internal", partition=place)
    last = [record for record in records_in(log) if record.key == _key(flow, 1)][-1]
    assert last.value is None, "a tombstone, as Connect writes it"

    flow.ok("reset", "--all-topics")
    assert flow.positions() == {0: 2}
    assert json.loads(flow.ok("reset", "--all-topics", "--execute", "--format", "json")) == [
        {"topic": flow.topic, "partition": 0, "position": 2, "new": None, "next": None}
    ]
    assert flow.positions() == {}


def _key(flow: _Flow, partition: int) -> bytes:
    fields = f'{{"cluster":"{flow.source}","partition":{partition},"topic":"{flow.topic}"}}'
    return f'["MirrorSourceConnector",{fields}]'.encode()


def test_what_stands_under_a_malformed_key_can_be_deleted(flow: _Flow, tmp_path: Path) -> None:
    """C204: also where no partition is, or none that exists."""
    flow.ok("alter", "--topic", flow.topic, "--to-latest", "--execute")
    topic = f"mm2-offsets.{flow.source}.internal"
    key = b'["MirrorSourceConnector",{"topc":"x"}]'
    produce(flow.target, topic, [Sample(key=key, value=b'{"offset":1}', partition=3)])
    gone = {"cluster": flow.source, "topic": "gone", "partition": 7}
    file = tmp_path / "offsets.json"
    entries = [flow.entry(p, None) for p in ({"topc": "x"}, {"topc": "y"}, None, gone)]
    file.write_text(json.dumps({"offsets": entries}))
    flow.ok("alter", "--file", str(file), "--execute")
    values = {s.value for s in consume(flow.target, topic, 5) if s.key == key}
    assert values == {b'{"offset":1}', None}
    assert flow.positions() == {0: 9, 1: 9}


@pytest.mark.parametrize(
    ("partition", "offset", "message"),
    [
        (0, {"offset": 10}, "mirroring would go on at offset 11; the source has 0 to 10"),
        (2, {"offset": 1}, "the source has no such partition"),
        (0, {"offset": "1"}, "offsets[0].offset.offset is '1': must be a whole number"),
        ({"topic": "t"}, {"offset": 1}, "must be an object of cluster, topic, partition"),
    ],
)
def test_bad_requests_change_nothing(
    flow: _Flow, tmp_path: Path, partition: object, offset: object, message: str
) -> None:
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps({"offsets": [flow.entry(partition, offset)]}))
    result = flow.run("alter", "--file", str(file), "--execute")
    assert result.exit_code == 1
    assert message in result.stderr
    assert flow.positions() == {}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--topic", "no-such-topic", "--to-latest"], "the source has no topic no-such-topic"),
        (["--topic", "TOPIC:9", "--to-latest"], "TOPIC-9: the source has no such partition"),
        (["--topic", "TOPIC", "--to-offset", "11"], "mirroring would go on at offset 11"),
    ],
)
def test_moves_to_what_the_source_does_not_have_are_refused(
    flow: _Flow, words: list[str], message: str
) -> None:
    result = flow.run("alter", *(word.replace("TOPIC", flow.topic) for word in words), "--execute")
    assert result.exit_code == 1
    assert message.replace("TOPIC", flow.topic) in result.stderr


def test_while_the_flow_runs_it_is_refused_and_afterwards_mirroring_goes_on_there(
    flow: _Flow, tmp_path: Path
) -> None:
    remote = f"{flow.source}.{flow.topic}"
    with Mirror(tmp_path, flow.file.read_text()) as mirror:
        consume(flow.target, remote, 20, timeout=70)
        result = flow.run("alter", "--topic", flow.topic, "--to-earliest", "--execute")
        assert result.exit_code == 1
        assert "a task of the flow is running" in result.stderr
        assert mirror.stop() == 0
    assert flow.positions() == {0: 9, 1: 9}
    flow.ok("alter", "--topic", f"{flow.topic}:1", "--shift-by", "-3", "--execute")
    with Mirror(tmp_path, flow.file.read_text()) as mirror:
        again = consume(flow.target, remote, 23, timeout=70)
        assert mirror.stop() == 0
    values = [sample.value for sample in again if sample.partition == 1]
    assert values == [b"%d" % n for n in (*range(1, 20, 2), 15, 17, 19)]
    assert len([sample for sample in again if sample.partition == 0]) == 10


@pytest.mark.parametrize(("key", "status"), [(b"heartbeat", 0), (b"bundle-0", 1)])
def test_a_node_that_sends_nothing_but_heartbeats_copies_nothing(
    flow: _Flow, key: bytes, status: int
) -> None:
    flow.ok("alter", "--topic", flow.topic, "--to-latest", "--execute")
    progress, stop = f"mm2-progress.{flow.source}.internal", Event()
    said = BundleProgress(bundle=0, epoch=1, generation=1, time_ms=0, pid=1, partitions=())
    sample = Sample(key=key, value=encode_progress(said)[1])

    def report() -> None:
        while not stop.wait(0.3):
            produce(flow.target, progress, [sample])

    produce(flow.target, progress, [sample])
    with ThreadPoolExecutor(1) as executor:
        reporting = executor.submit(report)
        try:
            result = flow.run("reset", "--all-topics", "--execute")
        finally:
            stop.set()
        reporting.result()
    assert result.exit_code == status, result.output


def test_members_of_javas_group_are_a_running_flow(flow: _Flow) -> None:
    join_as_connect_worker(flow.target, f"{flow.source}-mm2")
    result = flow.run("reset", "--all-topics", "--execute")
    assert result.exit_code == 1
    assert f"the group {flow.source}-mm2 has members" in result.stderr


def test_offsets_of_the_exactly_once_group_are_moved_too(flow: _Flow) -> None:
    """It would count as soon as a deleted record is compacted away; until then the record does."""
    group, remote = f"__mm2-{flow.source}->T", f"{flow.source}.{flow.topic}"
    settings = "T.exactly.once.source.support = enabled\n"
    flow.file.write_text(flow.file.read_text() + settings)
    create_topic(flow.target, remote, 2)
    flow.ok("alter", "--topic", flow.topic, "--to-offset", "2", "--execute")
    commit_group(flow.target, group, {(remote, 0): 6, (remote, 1): 6})
    assert flow.positions() == {0: 1, 1: 1}
    flow.ok("alter", "--topic", f"{flow.topic}:0", "--to-offset", "4", "--execute")
    assert flow.positions() == {0: 3, 1: 1}
    where = TopicPartition(TopicName(remote), 0)
    assert _committed(flow.target, group)[where] == CommittedOffset(4)
    flow.ok("reset", "--topic", f"{flow.topic}:0", "--execute")
    assert where not in _committed(flow.target, group)
    assert flow.positions() == {1: 1}


def _committed(bootstrap: str, group: str) -> dict[TopicPartition, CommittedOffset]:
    async def ask() -> dict[TopicPartition, CommittedOffset]:
        admin = Admin("T", {"bootstrap.servers": bootstrap})
        try:
            return await admin.list_group_offsets(group)
        finally:
            await admin.close()

    return asyncio.run(ask())


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_cluster_that_is_away_is_said_soon(flow: _Flow, side: str) -> None:
    alias = flow.source if side == "source" else "T"
    (port,) = free_ports(1)
    text = flow.file.read_text() + f"{alias}.bootstrap.servers = 127.0.0.1:{port}\n"
    flow.file.write_text(text)
    result = flow.run("alter", "--topic", flow.topic, "--to-latest")
    assert result.exit_code == 3
    assert f"cluster {alias}" in result.stderr
    assert flow.run("list").exit_code == (0 if side == "source" else 3)
