"""
Exact runs between real clusters: each translated offset is where the first unread record stands.
"""

from __future__ import annotations

import asyncio
import random
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace

import pytest
from confluent_kafka import OFFSET_END
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient

from flows.checkpoint.translation_followers import feed_all_runs
from flows.source.mirrored_partition import MirroredPartition
from flows.source.publish.run_cleanup import RunCleanup
from flows.source.publish.run_publisher import RunPublisher
from flows.source.send.send_queue import PartitionSender
from mm2.client.load_translation import read_translation
from mm2.core.internal_records import OffsetSync
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.offset_translation import OffsetTranslation, RunStore
from mm2.core.translation.run_codec import encode_key, encode_value
from mm2.core.translation.runs import Block, Run, Runs
from mm2.kafka.logs.read_log import records_to_end
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import OffsetSyncSpec
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.raw import log_of, records_in, wire
from tests.support.records import (
    Sample,
    committed,
    create_topic,
    produce,
    produce_transaction,
)
from tests.support.specs import data_settings, error_settings
from tests.support.topics import set_topic

pytestmark = pytest.mark.broker

_SIZES = [10] * 30 + [2_000] * 5 + [30_000]
_CLEANED_SOON = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.001",
    "max.compaction.lag.ms": "100",
}
_COMMITTED = data_settings(read_committed=True)


def _bench(
    source: Cluster,
    target: Cluster,
    unique: str,
    *,
    exactly_once: bool = False,
    at: str = "source",
    max_bytes: int = 1 << 20,
    configs: Mapping[str, str] | None = None,
) -> Bench:
    """A flow of one topic and one partition, that publishes its runs on one of the clusters."""
    create_topic(source.bootstrap, f"{unique}-t", configs=configs)
    bench = Bench(
        source,
        target,
        unique,
        {f"{unique}-t": 1},
        data=_COMMITTED,
        exactly_once=exactly_once,
        remote_configs={"max.message.bytes": str(max_bytes)},
    )
    where = _where(bench, at)
    spec = OffsetSyncSpec(
        cluster=at,
        properties={"bootstrap.servers": where.bootstrap},
        topic=f"{unique}-syncs",
        lag_max=100,
        runs_topic=f"{unique}-runs",
    )
    for topic in (spec.topic, f"{unique}-runs"):
        create_topic(where.bootstrap, topic, configs={"cleanup.policy": "compact"})
    bench.changes = {"offset_syncs": spec}
    return bench


def _delete_records(cluster: Cluster, topic: str) -> None:
    """All of them."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    (future,) = admin.delete_records([ClientPartition(topic, 0, OFFSET_END)]).values()
    future.result(60)


def _where(bench: Bench, at: str) -> Cluster:
    return bench.source if at == "source" else bench.target


def _topic(bench: Bench) -> str:
    (topic,) = bench.topics
    return topic


def _translation(bench: Bench, at: str) -> OffsetTranslation:
    """What the topics say by now."""
    properties = {"bootstrap.servers": _where(bench, at).bootstrap}
    syncs, runs = f"{bench.unique}-syncs", f"{bench.unique}-runs"
    return asyncio.run(read_translation(at, properties, syncs_topic=syncs, runs_topic=runs))


def _copied(bench: Bench, total: int) -> None:
    remote = bench.remote(_topic(bench))
    eventually(
        lambda: committed(bench.target.bootstrap, remote), until=lambda found: len(found) >= total
    )


def _write(bench: Bench, rng: random.Random, first: int) -> int:
    """Committed and aborted transactions of random lengths; returns how many records count."""
    for commit in (True, False, True, True):
        count = rng.randint(1, 9)
        samples = [Sample(value=b"%d" % n) for n in range(first, first + count)]
        produce_transaction(bench.source.bootstrap, _topic(bench), samples, commit=commit)
        first += count if commit else 0
    return first


def _assert_true(
    bench: Bench,
    at: str = "source",
    *,
    exact_since: int = 0,
    produced: list[Sample] | None = None,
) -> None:
    """
    Compares both logs, offset by offset, there and back: exact is exact, the rest is before.

    Args:
        bench: the flow.
        at: where its runs are.
        exact_since: from there on everything must be exact.
        produced: what the source had before it was copied; None is what it has now.
    """
    topic = _topic(bench)
    remote = committed(bench.target.bootstrap, bench.remote(topic))
    copies = {sample.value: index for index, sample in enumerate(remote)}
    produced = produced or committed(bench.source.bootstrap, topic)
    source = [sample for sample in produced if sample.value in copies]
    upstream, downstream = [s.offset for s in source], [s.offset for s in remote]
    translation, where = _translation(bench, at), TopicPartition(TopicName(topic), 0)
    for offset in range(log_of(bench.source.bootstrap, topic)[-1].last_offset + 2):
        found = translation.explain(where, offset)
        assert found is not None or offset < exact_since, offset
        if found is None:
            continue
        unread = bisect_left(upstream, offset)
        read = bisect_left(downstream, found.offset)
        expected = copies[source[unread].value] if unread < len(source) else len(remote)
        assert read <= expected, f"{offset} is translated to {found.offset}, which skips"
        assert read == expected or not found.exact, f"{offset} is translated to {found.offset}"
        assert found.exact or offset < exact_since, f"{offset} is translated approximately"
    for sample in remote:
        back = translation.reverse(where, sample.offset)
        if back is not None:
            found_value = source[bisect_left(upstream, back.offset)].value
            assert copies[found_value] <= copies[sample.value], f"back from {sample.offset} skips"
            assert found_value == sample.value or not back.exact
            assert back.exact or upstream[copies[sample.value]] < exact_since


def _assert_syncs_are_javas(bench: Bench, at: str) -> None:
    """C234: partition 0, Java's key and value, no headers, never in a transaction."""
    batches = log_of(_where(bench, at).bootstrap, f"{bench.unique}-syncs")
    remote = {s.offset: s.value for s in committed(bench.target.bootstrap, f"A.{_topic(bench)}")}
    source = {s.offset: s.value for s in committed(bench.source.bootstrap, _topic(bench))}
    assert not any(batch.is_transactional for batch in batches)
    for record in records_in(batches):
        sync = OffsetSync.decode(record.key, record.value)
        assert (sync.key(), sync.value(), ()) == (record.key, record.value, record.headers)
        assert sync.partition == (_topic(bench), 0)
        assert source[sync.upstream_offset] == remote[sync.downstream_offset]


@pytest.mark.parametrize(
    ("exactly_once", "at"), [(False, "source"), (True, "target")], ids=["at-least", "exactly"]
)
def test_every_offset_is_exact_over_aborted_transactions_and_restarts(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, *, exactly_once: bool, at: str
) -> None:
    """Both places of the topic, and commit markers on either side (C228)."""
    bench = _bench(cluster_a, cluster_b, unique, exactly_once=exactly_once, at=at)
    rng, total = random.Random(7), 0
    for _ in range(3):
        with bench.running():
            for _ in range(2):
                total = _write(bench, rng, total)
                _copied(bench, total)
        _assert_true(bench, at)
    _assert_syncs_are_javas(bench, at)


def test_what_a_killed_task_had_copied_is_told_by_the_next_one(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """Neither its positions nor its runs say so; they are found at the end of the copy."""
    bench = _bench(cluster_a, cluster_b, unique)
    rng, changes = random.Random(11), bench.changes
    total = _write(bench, rng, 0)
    with bench.running():
        _copied(bench, total)
    runs = {**changes, "flush_interval_s": 3_600.0}
    bench.changes = {**runs, "offset_syncs": None}
    for _ in range(2):
        with bench.detached():
            total = _write(bench, rng, total)
            _copied(bench, total)
    bench.changes = changes
    with bench.running():
        total = _write(bench, rng, total)
        _copied(bench, total)
    assert len(committed(cluster_b.bootstrap, bench.remote(_topic(bench)))) == total
    _assert_true(bench)


def test_a_task_that_is_killed_in_mid_copy_leaves_nothing_wrong(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """Exactly once there may be a hole, because runs follow their transaction."""
    bench = _bench(cluster_a, cluster_b, unique, exactly_once=True, at="target")
    topic, total, ends = _topic(bench), 0, []
    for _ in range(2):
        with bench.detached():
            for _ in range(20):
                samples = [Sample(value=b"%d" % n) for n in range(total, total + 25)]
                produce(cluster_a.bootstrap, topic, samples)
                total += 25
            _copied(bench, total - 100)
        ends.append(log_of(cluster_a.bootstrap, topic)[-1].last_offset + 1)
    with bench.running():
        total = _write(bench, random.Random(13), total)
        _copied(bench, total)
    _assert_true(bench, "target", exact_since=ends[-1])


def test_gaps_of_compaction_recoding_and_skipped_records_are_told(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """C228; the target takes no record of more than 20 kB, and gets another codec."""
    bench = _bench(cluster_a, cluster_b, unique, max_bytes=20_000, configs=_CLEANED_SOON)
    topic, rng = _topic(bench), random.Random(17)
    bench.changes = {
        **bench.changes,
        "data": replace(_COMMITTED, codec="zstd"),
        "errors": error_settings(tolerates=True),
    }
    # However much is cleaned, a record that is skipped is left: no other one has its key.
    large = Sample(key=b"large", value=rng.randbytes(_SIZES[-1]))
    produce(cluster_a.bootstrap, topic, [large])

    def cleaned() -> bool:
        samples = [
            Sample(key=b"%d" % rng.randint(0, 60), value=rng.randbytes(rng.choice(_SIZES)))
            for _ in range(60)
        ]
        produce(cluster_a.bootstrap, topic, samples, codec=rng.choice(["none", "lz4"]))
        log = log_of(cluster_a.bootstrap, topic)
        return len(log) > 3 and any(b.count < b.last_offset + 1 - b.base_offset for b in log)

    eventually(cleaned)
    produced = committed(cluster_a.bootstrap, topic)  # cleaning goes on
    with bench.running():
        end = log_of(cluster_a.bootstrap, topic)[-1].last_offset
        eventually(lambda: bench.progress()[topic, 0].position == end)
    _assert_true(bench, produced=produced)
    assert bench.progress()[topic, 0].skipped


def test_runs_that_cannot_be_written_stop_nothing(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    bench = _bench(cluster_a, cluster_b, unique)
    set_topic(cluster_a, f"{unique}-runs", "max.message.bytes", "10")
    total = _write(bench, random.Random(19), 0)
    with bench.running():
        _copied(bench, total)
        eventually(lambda: bench.progress()[_topic(bench), 0].lag == 0)
    assert log_of(cluster_a.bootstrap, f"{unique}-runs") == []
    set_topic(cluster_a, f"{unique}-runs", "max.message.bytes", "1000000")
    since = log_of(cluster_a.bootstrap, _topic(bench))[-1].last_offset + 1
    with bench.running():
        _copied(bench, _write(bench, random.Random(23), total))
    _assert_true(bench, exact_since=since)


def test_blocks_that_both_logs_have_moved_past_are_taken_back(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    bench, total = _bench(cluster_a, cluster_b, unique), 0
    topic, rng = _topic(bench), random.Random(29)
    for _ in range(3):
        with bench.running():
            total = _write(bench, rng, total)
            _copied(bench, total)
    where = TopicPartition(TopicName(topic), 0)
    _delete_records(cluster_a, topic)
    assert asyncio.run(_clean(bench, where)) == 0
    _delete_records(cluster_b, bench.remote(topic))
    assert asyncio.run(_clean(bench, where)) == 2
    assert asyncio.run(_clean(bench, where)) == 0
    found = _translation(bench, "source").explain(where, 0)
    assert found is not None, "offset syncs stay"
    assert not found.exact


def test_blocks_of_a_topic_that_the_source_deleted_are_taken_back_at_the_second_look(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    bench = _bench(cluster_a, cluster_b, unique)
    there, gone = _topic(bench), f"{unique}-gone"
    assert asyncio.run(_clean_of_others(bench, there, gone)) == [0, 2, 0]
    runs = asyncio.run(_read_runs(bench))
    assert runs.of(TopicPartition(TopicName(there), 0)).blocks  # type: ignore[union-attr]
    assert not runs.of(TopicPartition(TopicName(gone), 0)).blocks  # type: ignore[union-attr]


async def _clean_of_others(bench: Bench, *topics: str) -> list[int]:
    """What a task does that mirrors none of these topics, of which each has two blocks."""
    spec = bench.changes["offset_syncs"]
    async with (
        wire(bench.source.bootstrap, _topic(bench)) as source,
        wire(bench.target.bootstrap, _topic(bench)) as target,
        Writer(spec.cluster, spec.properties) as writer,
    ):
        blocks = [
            (encode_key(TopicPartition(TopicName(topic), 0), start), encode_value(block))
            for topic in topics
            for start in (0, 5)
            for block in [Block(start, start + 5, Runs([Run(start, start, 5)]))]
        ]
        await writer.send_all(spec.runs_topic, blocks, partition=0)
        runs = RunPublisher(spec.runs_topic, writer, {}, is_transactional=False)
        cleanup = RunCleanup(spec, runs, {}, source=source, target=target)
        return [await cleanup.clean() for _ in range(3)]


async def _read_runs(bench: Bench) -> RunStore:
    spec, store = bench.changes["offset_syncs"], RunStore()
    records = records_to_end(spec.cluster, spec.properties, spec.runs_topic)
    await feed_all_runs(store, [record async for record in records])
    return store


async def _clean(bench: Bench, where: TopicPartition) -> int:
    """What a task does after some minutes."""
    spec = bench.changes["offset_syncs"]
    remote = TopicPartition(TopicName(bench.remote(where.topic)), where.partition)
    partitions = {where: MirroredPartition(where, PartitionSender(remote))}
    async with (
        wire(bench.source.bootstrap, where.topic) as source,
        wire(bench.target.bootstrap, remote.topic) as target,
        Writer(spec.cluster, spec.properties) as writer,
    ):
        runs = RunPublisher(spec.runs_topic, writer, partitions, is_transactional=False)
        return await RunCleanup(spec, runs, partitions, source=source, target=target).clean()
