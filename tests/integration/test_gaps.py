"""Data that go missing on either side are noticed, counted, kept and dealt with by policy."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest
from confluent_kafka.admin import AdminClient

from mm2.herder.bundle import GapSpec
from mm2.herder.progress import GapReport, PartitionProgress
from tests.support.batches import Plain, write_batch
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.raw import contents, log_of, records_in, write
from tests.support.records import create_topic

pytestmark = pytest.mark.broker

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
    admin.delete_topics([topic])[topic].result(10)
    eventually(lambda: topic not in admin.list_topics(timeout=10).topics)


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


def _with_gaps(bench: Bench, values: Callable[[], object]) -> object:
    with bench.running():
        return values()


@pytest.mark.parametrize("is_running", [True, False])
def test_a_recreated_topic_is_copied_again_from_its_start(
    *, cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str, is_running: bool
) -> None:
    """The new log is longer than the position, so that no offset tells."""
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
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
    found = _values(cluster_b, bench.remote(topic_name))
    assert found[: len(old)] == old
    assert found[-len(new) :] == new
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


def _delete_before(cluster: Cluster, topic: str, offset: int) -> None:
    from confluent_kafka import TopicPartition

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    (future,) = admin.delete_records([TopicPartition(topic, 0, offset)]).values()
    future.result(10)
