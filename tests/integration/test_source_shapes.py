"""The source task between real clusters: what arrives equals what was there, shape by shape."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

import pytest

from mm2.errors import Fenced
from mm2.kafka.wire.compression import CODEC_NAMES
from tests.support.batches import CODECS, Plain, write_batch
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.raw import contents, log_of, write
from tests.support.records import Sample, create_topic, produce, produce_transaction
from tests.support.specs import data_settings

pytestmark = pytest.mark.broker

_TIME = 1_700_000_000_000


def _shapes(first: int = 0) -> list[Plain]:
    """Records of every shape, as producers other than ours may write them (C210)."""
    pairs: list[tuple[bytes | None, bytes | None]] = [
        (b"key", b"value"),
        (b"key", None),
        (None, b"value"),
        (None, None),
        (b"", b""),
        (b"\xff\xfe", b"\x00" * 3_000),
    ]
    records = [
        Plain(offset=first + n, timestamp=_TIME - 1_000 * n, key=key, value=value)
        for n, (key, value) in enumerate(pairs)
    ]
    headers = (
        (b"h", b"1"),
        (b"h", None),
        (b"", b""),
        (b"\xff not utf-8 \xfe", b"x"),
        (b"h", b"1"),
    )
    last = Plain(offset=first + len(pairs), timestamp=_TIME + 7, value=b"v", headers=headers)
    return [*records, last]


def _copied(bench: Bench, topic: str, least: int, *, partition: int = 0) -> None:
    """Waits until a copy has so many records, then compares it with the source (C208, C209)."""
    remote = bench.remote(topic)
    found = eventually(
        lambda: contents(bench.target.bootstrap, remote, partition=partition),
        until=lambda found: len(found) >= least,
    )
    assert found == contents(bench.source.bootstrap, topic, partition=partition)


def _values(cluster: Cluster, topic: str) -> Callable[[], list[object]]:
    return lambda: [content[2] for content in contents(cluster.bootstrap, topic)]


def test_every_shape_with_every_codec_is_copied_byte_for_byte(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """C415: Java keeps neither batches nor their codec."""
    topics = {f"{unique}-{codec}": 2 for codec in CODECS}
    many = [record for first in range(0, 70, 7) for record in _shapes(first)]
    for codec, topic in zip(CODECS, topics, strict=True):
        create_topic(cluster_a.bootstrap, topic, 2)
        # Side by side in one log they would become one.
        for partition, records in enumerate([many, [Plain(timestamp=-1)]]):
            batch = write_batch(records, codec_number=codec)
            write(cluster_a.bootstrap, topic, batch, partition=partition)
    bench = Bench(cluster_a, cluster_b, unique, topics)
    with bench.running() as totals:
        for topic in topics:
            _copied(bench, topic, 70)
            _copied(bench, topic, 1, partition=1)
    assert totals.result()["records"] == 71 * len(topics)
    for codec, topic in zip(CODECS, topics, strict=True):
        for partition in (0, 1):
            (source,) = log_of(cluster_a.bootstrap, topic, partition=partition)
            (copy,) = log_of(cluster_b.bootstrap, bench.remote(topic), partition=partition)
            assert copy.codec == codec
            assert bytes(copy.data[61:]) == bytes(source.data[61:])


@pytest.mark.parametrize("codec", [0, 2, 3, 4])
def test_small_batches_side_by_side_become_one_of_the_same_codec_and_the_same_records(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str, codec: int
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    batches = [write_batch(_shapes(), codec_number=codec)] * 10
    write(cluster_a.bootstrap, topic_name, *batches)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
    with bench.running():
        _copied(bench, topic_name, 70)
    copy = log_of(cluster_b.bootstrap, bench.remote(topic_name))
    assert [(batch.codec, batch.count) for batch in copy] == [(codec, 70)]


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_batches_of_one_record_arrive_together_and_in_order(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str, codec: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    samples = [Sample(key=b"%d" % n, value=b"v" * (n % 90)) for n in range(500)]
    one_by_one = {"batch.num.messages": 1, "linger.ms": 0}
    produce(cluster_a.bootstrap, topic_name, samples, codec=codec, settings=one_by_one)
    assert len(log_of(cluster_a.bootstrap, topic_name)) == len(samples)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
    with bench.running():
        _copied(bench, topic_name, len(samples))
    copy = log_of(cluster_b.bootstrap, bench.remote(topic_name))
    assert len(copy) <= 5
    assert {batch.codec for batch in copy} == {0 if codec == "none" else 4}
    assert bench.progress()[topic_name, 0].position == len(samples) - 1


@pytest.mark.parametrize("codec", ["none", "gzip", "lz4", "zstd"])
def test_the_codec_that_the_user_asks_for_is_that_of_every_batch(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str, codec: str
) -> None:
    """``B.producer.compression.type``."""
    create_topic(cluster_a.bootstrap, topic_name)
    batches = [write_batch([*_shapes(), *_shapes(7)], codec_number=number) for number in CODECS]
    write(cluster_a.bootstrap, topic_name, *batches, *batches)
    data = data_settings(codec=codec)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1}, data)
    with bench.running():
        _copied(bench, topic_name, 14 * len(batches) * 2)
    copy = log_of(cluster_b.bootstrap, bench.remote(topic_name))
    assert {batch.codec for batch in copy} == {CODEC_NAMES.index(codec)}


def test_what_compaction_left_is_copied(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    """C228: batches with gaps, a tombstone, and a delete horizon."""
    configs = {
        "cleanup.policy": "compact",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.001",
        "max.compaction.lag.ms": "100",
    }
    create_topic(cluster_a.bootstrap, topic_name, configs=configs)
    keys = [b"a", b"b", b"a", b"c", b"a", b"d"]
    records = [
        Plain(offset=n, timestamp=_TIME + n, key=key, value=None if key == b"d" else b"%d" % n)
        for n, key in enumerate(keys)
    ]
    write(cluster_a.bootstrap, topic_name, write_batch(records, codec_number=4))

    times = count(_TIME, 1_000)

    def cleaned() -> bool:
        # Only segments that are no longer written to are cleaned, and a later record begins one.
        write(
            cluster_a.bootstrap, topic_name, write_batch([Plain(timestamp=next(times), key=b"z")])
        )
        first = log_of(cluster_a.bootstrap, topic_name)[0]
        return first.count < len(records) and bool(first.attributes & (1 << 6))

    eventually(cleaned)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
    with bench.running():
        everything = contents(cluster_a.bootstrap, topic_name)
        remote = bench.remote(topic_name)
        found = eventually(
            lambda: contents(cluster_b.bootstrap, remote),
            until=lambda found: len(found) >= 5,
        )
    assert found[:4] == everything[:4]
    assert [content[1] for content in found[:4]] == [b"b", b"c", b"a", b"d"]
    assert log_of(cluster_b.bootstrap, remote)[0].codec == 4


@pytest.mark.parametrize("read_committed", [True, False])
def test_transactions_are_copied_as_a_reader_of_that_isolation_sees_them(
    *, cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str, read_committed: bool
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)

    def transaction(*values: bytes, commit: bool) -> None:
        samples = [Sample(value=value) for value in values]
        produce_transaction(cluster_a.bootstrap, topic_name, samples, commit=commit)

    transaction(b"1", b"2", commit=True)
    transaction(b"3 aborted", commit=False)
    produce(cluster_a.bootstrap, topic_name, [Sample(value=b"4")])
    transaction(b"5 aborted", b"6 aborted", commit=False)
    transaction(b"7", commit=True)
    expected = [b"1", b"2", b"3 aborted", b"4", b"5 aborted", b"6 aborted", b"7"]
    if read_committed:
        expected = [value for value in expected if b"aborted" not in value]
    data = data_settings(read_committed=read_committed)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1}, data)
    remote = bench.remote(topic_name)
    with bench.running():
        look = _values(cluster_b, remote)
        assert eventually(look, until=lambda found: b"7" in found) == expected
    assert not any(batch.is_transactional for batch in log_of(cluster_b.bootstrap, remote))


def test_append_time_is_kept_as_the_timestamp(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    """C211."""
    configs = {"message.timestamp.type": "LogAppendTime"}
    create_topic(cluster_a.bootstrap, topic_name, configs=configs)
    write(cluster_a.bootstrap, topic_name, write_batch(_shapes(), codec_number=3))
    (source,) = log_of(cluster_a.bootstrap, topic_name)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
    remote = bench.remote(topic_name)
    with bench.running():
        found = eventually(
            lambda: contents(cluster_b.bootstrap, remote),
            until=lambda found: len(found) == source.count,
        )
    assert source.max_timestamp > _TIME + 7
    assert {content[0] for content in found} == {source.max_timestamp}
    assert [content[1:] for content in found] == [record.content[1:] for record in _shapes()]


def test_large_batches_are_split_and_a_large_record_stops_only_its_partition(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name, 2)
    fine = [Plain(offset=n, timestamp=_TIME, value=b"%d" % n + b"x" * 900) for n in range(20)]
    large = [*fine[:3], Plain(offset=3, timestamp=_TIME, value=b"x" * 6_000), *fine[4:6]]
    write(cluster_a.bootstrap, topic_name, write_batch(large), partition=0)
    write(cluster_a.bootstrap, topic_name, write_batch(fine), partition=1)
    limit = {"max.message.bytes": "4000"}
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 2}, remote_configs=limit)
    with bench.running():
        _copied(bench, topic_name, 20, partition=1)
        report = eventually(
            lambda: bench.progress().get((topic_name, 0)),
            until=lambda report: report is not None and "for good" in (report.error or ""),
        )
        write(cluster_a.bootstrap, topic_name, write_batch(fine[:1]), partition=1)
        _copied(bench, topic_name, 21, partition=1)
    assert report is not None
    assert "the target refuses the record at offset 3 for good: MESSAGE_TOO_LARGE" in (
        report.error or ""
    )
    assert report.position == 2
    remote = bench.remote(topic_name)
    assert contents(cluster_b.bootstrap, remote) == [r.content for r in large[:3]]
    sizes = [len(b.data) for b in log_of(cluster_b.bootstrap, remote, partition=1)]
    assert len(sizes) > 5
    assert max(sizes) <= 4_000


def test_a_record_from_the_future_stops_its_partition_and_says_so(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    """C472: brokers refuse create times more than an hour ahead of their clocks."""
    configs = {"message.timestamp.after.max.ms": str(1 << 60)}
    create_topic(cluster_a.bootstrap, topic_name, configs=configs)
    future = int(time.time() * 1_000) + 7_200_000
    batches = [write_batch([Plain(timestamp=at)]) for at in (_TIME, future)]
    write(cluster_a.bootstrap, topic_name, *batches)
    hour = {"message.timestamp.after.max.ms": "3600000"}  # the default since 4.0
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1}, remote_configs=hour)
    with bench.running():
        report = eventually(
            lambda: bench.progress().get((topic_name, 0)),
            until=lambda report: report is not None and "for good" in (report.error or ""),
        )
    assert report is not None
    assert "INVALID_TIMESTAMP" in (report.error or "")
    assert report.position == 0


def test_after_a_clean_stop_each_record_is_copied_once(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    """C206, C222."""
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
    for total in (7, 14, 21):
        write(cluster_a.bootstrap, topic_name, write_batch(_shapes()))
        with bench.running() as totals:
            _copied(bench, topic_name, total)
        assert totals.result()["records"] == 7
    with bench.running() as totals:
        eventually(lambda: bench.progress().get((topic_name, 0)))
    assert totals.result()["records"] == 0


def test_a_position_inside_of_a_batch_is_continued_from(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    """C206: Java commits positions of single records, so one may lie inside of a batch."""
    create_topic(cluster_a.bootstrap, topic_name)
    write(cluster_a.bootstrap, topic_name, write_batch(_shapes(), codec_number=2))
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
    key = f'["MirrorSourceConnector",{{"cluster":"A","partition":0,"topic":"{topic_name}"}}]'
    position = Sample(key=key.encode(), value=b'{"offset":3}')
    produce(cluster_b.bootstrap, f"{unique}-offsets", [position])
    remote = bench.remote(topic_name)
    with bench.running():
        found = eventually(
            lambda: contents(cluster_b.bootstrap, remote),
            until=lambda found: len(found) >= 3,
        )
    assert found == [record.content for record in _shapes()[4:]]


def test_a_second_task_fences_the_first_and_nothing_is_lost(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    """Design 2.4: both have the bundle's transactional id; the later one wins."""
    create_topic(cluster_a.bootstrap, topic_name)
    write(cluster_a.bootstrap, topic_name, write_batch(_shapes()))
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
    look = _values(cluster_b, bench.remote(topic_name))
    sent: list[bytes] = []

    def send(value: bytes) -> None:
        sent.append(value)
        write(cluster_a.bootstrap, topic_name, write_batch([Plain(value=value)]))
        eventually(look, until=lambda found: value in found)

    with bench.running(epoch=1, fails=True) as first:
        _copied(bench, topic_name, 7)
        with bench.running(epoch=1) as second:
            while not first.done():
                send(b"%d" % len(sent))
                assert len(sent) < 200, "the first task is still not fenced"
            send(b"last")
    assert isinstance(first.exception(), Fenced)
    assert second.result()["records"] > 0
    # What the first task had not committed the second copies again; first copies are in order.
    found = look()
    assert list(dict.fromkeys(found)) == list(dict.fromkeys([*found[:7], *sent]))
    assert found.count(b"last") == 1
