"""Data that go missing on either side are noticed, counted, kept and dealt with by policy."""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from mm2.herder.bundle import FetchSpec, GapSpec
from mm2.herder.progress import GapReport, PartitionProgress
from tests.support.batches import Plain, write_batch
from tests.support.bundle import Bench
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually
from tests.support.raw import contents, log_of, records_in, write
from tests.support.records import create_topic

pytestmark = pytest.mark.broker

_MODES = pytest.mark.parametrize("exactly_once", [False, True])
_FAILING = GapSpec(fails=True, remote_fails=True, look_every_s=0.3)


def _write(cluster: Cluster, topic: str, *values: bytes, partition: int = 0) -> None:
    records = [Plain(offset=n, key=b"k", value=value) for n, value in enumerate(values)]
    write(cluster.bootstrap, topic, write_batch(records), partition=partition)


def _values(cluster: Cluster, topic: str, partition: int = 0) -> list[object]:
    return [content[2] for content in contents(cluster.bootstrap, topic, partition=partition)]


def _copied(bench: Bench, topic: str, values: Sequence[bytes]) -> None:
    look = lambda: _values(bench.target, bench.remote(topic))  # noqa: E731 - shown when it fails
    assert eventually(look, until=lambda found: len(found) >= len(values)) == list(values)


def _delete(cluster: Cluster, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.delete_topics([topic])[topic].result(60)
    eventually(lambda: topic not in admin.list_topics(timeout=60).topics)


def _recreate(cluster: Cluster, topic: str, partitions: int = 1) -> None:
    _delete(cluster, topic)
    create_topic(cluster.bootstrap, topic, partitions)


def _report(bench: Bench, topic: str, kind: str, partition: int = 0) -> PartitionProgress:
    """The progress of a partition once it tells of a gap of this kind."""
    report = eventually(
        lambda: bench.progress().get((topic, partition)),
        until=lambda report: report is not None and bool(_gaps(report, kind)),
    )
    assert report is not None
    return report


def _gaps(report: PartitionProgress, kind: str) -> list[GapReport]:
    return [gap for gap in report.gaps if gap.kind == kind]


def _kept(bench: Bench, kind: str) -> list[dict[str, object]]:
    """What the control topic keeps of gaps of a kind."""
    records = records_in(log_of(bench.target.bootstrap, f"{bench.unique}-control"))
    prefix = f"gap-{kind}".encode()
    return [json.loads(r.value or b"") for r in records if (r.key or b"").startswith(prefix)]


@_MODES
@pytest.mark.parametrize("is_running", [True, False])
def test_a_recreated_topic_is_copied_again_from_its_start(
    *,
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    topic_name: str,
    is_running: bool,
    exactly_once: bool,
) -> None:
    """
    The new log is longer than the position, so that no offset tells.

    Nor does a look, which comes too late: what tells are the ids that topics are asked for by.
    """
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(
        cluster_a,
        cluster_b,
        unique,
        {topic_name: 1},
        exactly_once=exactly_once,
        gaps=GapSpec(look_every_s=3_600),
    )
    old, new = [b"1", b"2", b"3"], [b"a", b"b", b"c", b"d", b"e"]
    with bench.running():
        _write(cluster_a, topic_name, *old)
        _copied(bench, topic_name, old)
        if is_running:
            _recreate(cluster_a, topic_name)
            _write(cluster_a, topic_name, *new)
            report = _report(bench, topic_name, "topic-recreated")
            eventually(lambda: new[-1] in _values(cluster_b, bench.remote(topic_name)))
    if not is_running:
        _recreate(cluster_a, topic_name)
        _write(cluster_a, topic_name, *new)
        with bench.running():
            _copied(bench, topic_name, old + new)
            report = _report(bench, topic_name, "topic-recreated")
    assert _gaps(report, "topic-recreated")[0].first >= len(old)
    assert _values(cluster_b, bench.remote(topic_name)) == old + new, "nothing is repeated"
    assert _kept(bench, "topic-recreated")[0]["topic"] == topic_name
    with bench.running() as totals:
        _write(cluster_a, topic_name, b"f")
        eventually(lambda: b"f" in _values(cluster_b, bench.remote(topic_name)))
    assert totals.result()["records"] == 1, "the new position and the new id were stored together"


def test_by_policy_a_recreated_topic_stops_and_the_others_go_on(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    topics = {f"{unique}-1": 1, f"{unique}-2": 1}
    first, second = topics
    for topic in topics:
        create_topic(cluster_a.bootstrap, topic)
        _write(cluster_a, topic, b"old")
    bench = Bench(cluster_a, cluster_b, unique, topics, gaps=_FAILING)
    with bench.running():
        _copied(bench, first, [b"old"])
        _copied(bench, second, [b"old"])
    _recreate(cluster_a, first)
    _write(cluster_a, first, b"new", b"new")
    for turn in range(2):
        with bench.running():
            _write(cluster_a, second, b"%d" % turn)
            _copied(bench, second, [b"old", b"0", b"1"][: turn + 2])
            report = _report(bench, first, "topic-recreated")
            assert (report.error or "").startswith("topic-recreated: offsets 1 to")
    assert _values(cluster_b, bench.remote(first)) == [b"old"]


def test_records_deleted_before_they_were_copied_are_counted_to_the_offset(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
    _write(cluster_a, topic_name, b"0", b"1")
    with bench.running():
        _copied(bench, topic_name, [b"0", b"1"])
    _write(cluster_a, topic_name, b"2", b"3", b"4", b"5")
    _delete_before(cluster_a, topic_name, 5)
    with bench.running():
        _copied(bench, topic_name, [b"0", b"1", b"5"])
        report = _report(bench, topic_name, "records-expired")
    (gap,) = _gaps(report, "records-expired")
    assert (gap.first, gap.end, report.lost) == (2, 5, 3)
    assert [(e["first"], e["end"]) for e in _kept(bench, "records-expired")] == [(2, 5)]


@_MODES
def test_a_marker_that_is_deleted_behind_the_last_copied_record_is_no_loss(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str, *, exactly_once: bool
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1}, exactly_once=exactly_once)
    producer = Producer({"bootstrap.servers": cluster_a.bootstrap, "transactional.id": unique})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic_name, b"0")
    producer.commit_transaction(60)
    with bench.running():
        _copied(bench, topic_name, [b"0"])
        eventually(lambda: bench.progress()[topic_name, 0].position == 1)
    _delete_before(cluster_a, topic_name, 2)
    _write(cluster_a, topic_name, b"2")
    with bench.running():
        _copied(bench, topic_name, [b"0", b"2"])
    assert _kept(bench, "records-expired") == []


def _delete_before(cluster: Cluster, topic: str, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    (future,) = admin.delete_records([TopicPartition(topic, 0, offset)]).values()
    future.result(60)


@pytest.fixture(scope="module")
def damaged() -> Iterator[KafkaCluster]:
    """A source whose files are tampered with."""
    with KafkaCluster("D") as cluster:
        yield cluster


@pytest.mark.parametrize("is_running", [True, False])
def test_a_truncated_log_is_noticed_though_it_has_grown_again(
    *, damaged: KafkaCluster, cluster_b: Cluster, unique: str, topic_name: str, is_running: bool
) -> None:
    """As after an unclean leader election: the node comes back with an older state of the log."""
    create_topic(damaged.bootstrap, topic_name)
    bench = Bench(damaged, cluster_b, unique, {topic_name: 1})
    before, gone, after = [b"0", b"1"], [b"2 gone", b"3 gone"], [b"2", b"3", b"4", b"5"]
    _write(damaged, topic_name, *before)
    backup = _stopped(damaged, topic_name)
    damaged.restart()
    _write(damaged, topic_name, *gone)
    if is_running:
        with bench.running():
            _copied(bench, topic_name, before + gone)
            _put_back(damaged, topic_name, backup)
            _write(damaged, topic_name, *after)
            _copied(bench, topic_name, before + gone + after)
    else:
        with bench.running():
            _copied(bench, topic_name, before + gone)
        _put_back(damaged, topic_name, backup)
        _write(damaged, topic_name, *after)
        with bench.running():
            _copied(bench, topic_name, before + gone + after)
    report = _report(bench, topic_name, "log-truncated")
    (gap,) = _gaps(report, "log-truncated")
    assert (gap.first, gap.end, report.diverged, report.lost) == (2, 4, 2, 0)


def _stopped(cluster: KafkaCluster, topic: str) -> Path:
    """Shuts the node down, and keeps a partition's log as it is now."""
    cluster.stop_node()
    folder = cluster.log_folder(topic)
    backup = folder.parent.parent / f"backup-{uuid.uuid4().hex}"
    shutil.copytree(folder, backup)
    return backup


def _put_back(cluster: KafkaCluster, topic: str, backup: Path) -> None:
    """Brings the node back with the log of a backup."""
    cluster.kill()
    folder = cluster.log_folder(topic)
    shutil.rmtree(folder)
    shutil.copytree(backup, folder)
    for checkpoint in folder.parent.glob("*-offset-checkpoint"):
        checkpoint.unlink()
    cluster.restart()


def test_a_hanging_transaction_is_reported_while_it_holds_mirroring_back(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    fetch = FetchSpec(max_wait_ms=100, read_committed=True)
    gaps = GapSpec(look_every_s=0.3, hanging_after_s=0.5)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1}, fetch, gaps=gaps)
    _write(cluster_a, topic_name, b"0")
    settings = {"bootstrap.servers": cluster_a.bootstrap, "transactional.id": unique}
    producer = Producer(settings)
    producer.init_transactions(60)
    with bench.running():
        _copied(bench, topic_name, [b"0"])
        producer.begin_transaction()
        producer.produce(topic_name, b"1")
        producer.flush(10)
        _write(cluster_a, topic_name, b"2")
        (gap,) = _gaps(_report(bench, topic_name, "transaction-hanging"), "transaction-hanging")
        assert (gap.first, gap.end, gap.is_open) == (1, 3, True)
        producer.commit_transaction(60)
        _copied(bench, topic_name, [b"0", b"1", b"2"])
        eventually(
            lambda: _gaps(_report(bench, topic_name, gap.kind), gap.kind)[0],
            until=lambda found: not found.is_open,
        )


def test_falling_behind_a_compacted_topic_by_more_than_tombstones_stay_is_reported(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    configs = {"cleanup.policy": "compact", "delete.retention.ms": "1000"}
    create_topic(cluster_a.bootstrap, topic_name, configs=configs)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
    with bench.running():
        _write(cluster_a, topic_name, b"0")
        _copied(bench, topic_name, [b"0"])
        eventually(lambda: b"caughtUp" in _position_headers(bench))
        _write(cluster_a, topic_name, b"1")
        _copied(bench, topic_name, [b"0", b"1"])
    assert not bench.progress()[topic_name, 0].gaps, "it was never behind"
    _write(cluster_a, topic_name, b"2", b"3")
    stopped = time.monotonic()
    eventually(lambda: time.monotonic() - stopped > 1.5)
    with bench.running():
        _copied(bench, topic_name, [b"0", b"1", b"2", b"3"])
        report = _report(bench, topic_name, "tombstones-expired")
    (gap,) = _gaps(report, "tombstones-expired")
    assert (gap.first, gap.end, report.lost) == (2, 4, 0)


def _position_headers(bench: Bench) -> bytes:
    """What the last position stored says of its logs."""
    records = [
        record
        for partition in (0, 1)
        for record in records_in(
            log_of(bench.target.bootstrap, f"{bench.unique}-offsets", partition=partition)
        )
    ]
    return dict(records[-1].headers)[b"mm2.lineage"] or b"" if records else b""


@_MODES
@pytest.mark.parametrize("is_running", [True, False])
def test_a_remote_topic_that_comes_back_empty_is_filled_again(
    *,
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    topic_name: str,
    is_running: bool,
    exactly_once: bool,
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1}, exactly_once=exactly_once)
    remote = bench.remote(topic_name)
    values = [b"0", b"1", b"2"]
    _write(cluster_a, topic_name, *values)
    with bench.running():
        _copied(bench, topic_name, values)
        if is_running:
            _delete(cluster_b, remote)
            _write(cluster_a, topic_name, b"3")
            eventually(lambda: _wished(bench, remote))
            create_topic(cluster_b.bootstrap, remote)
            _copied(bench, topic_name, [*values, b"3"])
            _write(cluster_a, topic_name, b"4")
            _copied(bench, topic_name, [*values, b"3", b"4"])
    if not is_running:
        _recreate(cluster_b, remote)
        with bench.running():
            _copied(bench, topic_name, values)
    report = _report(bench, topic_name, "remote-recreated")
    (gap,) = _gaps(report, "remote-recreated")
    assert (gap.first, gap.end >= len(values), report.lost) == (0, True, 0)


def _wished(bench: Bench, remote: str) -> bool:
    """Whether the task has asked for a remote topic."""
    records = records_in(log_of(bench.target.bootstrap, f"{bench.unique}-control"))
    return f"missing-{remote}".encode() in {record.key for record in records}


def test_by_policy_a_deleted_remote_topic_stops_its_partitions_only(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    topics = {f"{unique}-1": 1, f"{unique}-2": 1}
    first, second = topics
    for topic in topics:
        create_topic(cluster_a.bootstrap, topic)
        _write(cluster_a, topic, b"0")
    bench = Bench(cluster_a, cluster_b, unique, topics, gaps=_FAILING)
    with bench.running():
        _copied(bench, first, [b"0"])
        _copied(bench, second, [b"0"])
        _delete(cluster_b, bench.remote(first))
        report = eventually(
            lambda: bench.progress()[first, 0], until=lambda report: report.error is not None
        )
        assert "was deleted" in (report.error or "")
        _write(cluster_a, second, b"1")
        _copied(bench, second, [b"0", b"1"])
    create_topic(cluster_b.bootstrap, bench.remote(first))
    with bench.running():
        report = _report(bench, first, "remote-recreated")
        assert (report.error or "").startswith("remote-recreated")
    assert not _wished(bench, bench.remote(first))
    assert _values(cluster_b, bench.remote(first)) == []


def test_a_deleted_source_topic_is_waited_for_in_silence(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, capsys: pytest.CaptureFixture[str]
) -> None:
    topics = {f"{unique}-1": 1, f"{unique}-2": 1}
    first, second = topics
    for topic in topics:
        create_topic(cluster_a.bootstrap, topic)
        _write(cluster_a, topic, b"0")
    bench = Bench(cluster_a, cluster_b, unique, topics)
    said: list[str] = []

    def heard() -> str:
        said.append(capsys.readouterr().out)
        return "".join(said)

    with bench.running():
        _copied(bench, first, [b"0"])
        _delete(cluster_a, first)
        eventually(heard, until=lambda text: "source.topic_missing" in text)
        for value in range(1, 9):
            _write(cluster_a, second, b"%d" % value)
            _copied(bench, second, [b"%d" % n for n in range(value + 1)])
        create_topic(cluster_a.bootstrap, first)
        _write(cluster_a, first, b"new")
        _copied(bench, first, [b"0", b"new"])
    assert heard().count("source.topic_missing") == 1


def test_what_was_gone_stays_gone_when_exactly_once_is_switched_off_and_on_again(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    """The group still holds a position of the old topic, which is further on."""
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1}, exactly_once=True)
    _write(cluster_a, topic_name, *(b"%d" % n for n in range(9)))
    with bench.running():
        eventually(lambda: b"8" in _values(cluster_b, bench.remote(topic_name)))
    bench.exactly_once = False
    _recreate(cluster_a, topic_name)
    _write(cluster_a, topic_name, b"a")
    with bench.running():
        eventually(lambda: b"a" in _values(cluster_b, bench.remote(topic_name)))
    bench.exactly_once = True
    _write(cluster_a, topic_name, *(b"b%d" % n for n in range(12)))
    with bench.running() as totals:
        eventually(lambda: b"b11" in _values(cluster_b, bench.remote(topic_name)))
    assert totals.result()["records"] == 12
