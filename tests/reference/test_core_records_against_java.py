"""Our records, positions and translations beside those of Java's own classes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.connect.offset_records import (
    CheckpointPartition,
    HeartbeatPartition,
    SourcePartition,
    encode_key,
    encode_offset,
)
from mm2.core.internal_records import Checkpoint, Heartbeat, OffsetSync
from mm2.core.model import ClusterAlias, GroupId, TopicName, TopicPartition
from mm2.core.murmur2 import partition_for
from mm2.core.translation.offset_sync import PartitionState
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.errors import SchemaError
from tests.reference.core_java import Java, many, running_java

pytestmark = pytest.mark.reference

INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    with running_java() as found:
        yield found


@given(source=TEXT, target=TEXT, timestamp=INT64)
@many(60)
def test_heartbeats_are_javas(java: Java, source: str, target: str, timestamp: int) -> None:
    _assert_same_record(java, Heartbeat(ClusterAlias(source), ClusterAlias(target), timestamp))


@given(group=TEXT, topic=TEXT, numbers=st.tuples(INT32, INT64, INT64), metadata=TEXT)
@many(60)
def test_checkpoints_are_javas(
    java: Java, group: str, topic: str, numbers: tuple[int, int, int], metadata: str
) -> None:
    partition, upstream, downstream = numbers
    where = TopicPartition(TopicName(topic), partition)
    checkpoint = Checkpoint(GroupId(group), where, upstream, downstream, metadata)
    _assert_same_record(java, checkpoint)


@given(topic=TEXT, partition=INT32, upstream=INT64, downstream=INT64)
@many(60)
def test_offset_syncs_are_javas(
    java: Java, topic: str, partition: int, upstream: int, downstream: int
) -> None:
    where = TopicPartition(TopicName(topic), partition)
    _assert_same_record(java, OffsetSync(where, upstream, downstream))


def _assert_same_record(java: Java, record: Heartbeat | Checkpoint | OffsetSync) -> None:
    key, value = record.key().hex(), record.value().hex()
    question = {"kind": type(record).__name__, "key": key, "value": value}
    assert java.ask("record", question) == [str(record), key, value]


@given(
    kind=st.sampled_from([Heartbeat, Checkpoint, OffsetSync]),
    key=st.binary(max_size=12) | st.just(b"\0\1g\0\1t\0\0\0\7"),
    value=st.binary(max_size=24) | st.just(bytes(20)),
)
@many(300)
def test_what_java_cannot_read_we_cannot_either(
    java: Java, kind: type[Heartbeat | Checkpoint | OffsetSync], key: bytes, value: bytes
) -> None:
    question = {"kind": kind.__name__, "key": key.hex(), "value": value.hex()}
    answer = java.ask("record", question)
    assert _read(kind, key, value, answer) == answer


def _read(
    kind: type[Heartbeat | Checkpoint | OffsetSync], key: bytes, value: bytes, answer: object
) -> object:
    """What we read, or Java's answer if both reject the same field."""
    try:
        ours = kind.decode(key, value)
    except SchemaError as rejected:
        field = str(rejected).partition(":")[0]
        return answer if field in str(answer) else field
    return [str(ours), ours.key().hex(), ours.value().hex()]


@given(name=TEXT, topic=TEXT, partition=INT32, offset=INT64)
@many(200)
def test_positions_are_the_bytes_that_connect_writes(
    java: Java, name: str, topic: str, partition: int, offset: int
) -> None:
    question = {"name": name, "topic": topic, "partition": partition, "offset": offset}
    ours = [
        encode_key(name, SourcePartition(ClusterAlias(name), TopicName(topic), partition)),
        encode_key(name, CheckpointPartition(GroupId(name), TopicName(topic), partition)),
        encode_key(name, HeartbeatPartition(ClusterAlias(name), ClusterAlias(topic))),
        encode_offset(offset),
    ]
    assert java.ask("position", question) == [each.hex() for each in ours]


@given(keys=st.lists(st.binary(max_size=40), min_size=20, max_size=20), count=st.integers(1, 300))
@many(50)
def test_keys_go_to_javas_partitions(java: Java, keys: list[bytes], count: int) -> None:
    answer = java.ask("partition", {"keys": [key.hex() for key in keys], "count": count})
    assert answer == [partition_for(key, count) for key in keys]


RUN = st.tuples(st.integers(-3, 5), st.integers(-3, 5), st.integers(1, 40))


@given(lag=st.integers(-1, 20), runs=st.lists(RUN, max_size=12))
@many(200)
def test_runs_give_the_syncs_that_java_gives_record_by_record(
    java: Java, lag: int, runs: list[tuple[int, int, int]]
) -> None:
    """C224-C227; a run begins where the last one ended, give or take a few offsets."""
    upstream = downstream = 100
    state = PartitionState(lag)
    records: list[tuple[int, int]] = []
    ours: list[bool] = []
    for up, down, count in runs:
        upstream, downstream = max(upstream + up, 0), max(downstream + down, 0)
        due = state.update_range(upstream, downstream, count)
        ours += [index in due for index in range(count)]
        records += [(upstream + index, downstream + index) for index in range(count)]
        upstream, downstream = upstream + count, downstream + count
    assert java.ask("due", {"lag": lag, "records": records}) == ours


GAPS = st.one_of(
    st.integers(0, 3), st.integers(0, 2**16), st.integers(0, 2**40), st.integers(-50, 50)
)


@given(
    start=st.integers(0, 2**63 - 2),
    gaps=st.lists(st.tuples(GAPS, GAPS), max_size=120),
    backlog=st.integers(0, 120),
    must_read_to_end=st.booleans(),
)
@many(150)
def test_the_store_keeps_and_translates_as_javas(
    java: Java,
    start: int,
    gaps: list[tuple[int, int]],
    backlog: int,
    must_read_to_end: bool,
) -> None:
    """C239-C264, C473."""
    syncs = [(start, start)]
    for up, down in gaps:
        syncs.append((_int64(syncs[-1][0] + up), _int64(syncs[-1][1] + down)))
    offsets = sorted({_int64(up + step) for up, _ in syncs for step in (-1, 0, 1)})
    answer = java.ask(
        "store",
        {
            "backlog": syncs[:backlog],
            "syncs": syncs[backlog:],
            "offsets": offsets,
            "mustReadToEnd": must_read_to_end,
        },
    )
    where = TopicPartition(TopicName("t"), 0)
    store = OffsetSyncStore(must_read_to_end=must_read_to_end)
    for number, (up, down) in enumerate(syncs):
        if number == backlog:
            store.backlog_read()
        store.handle(OffsetSync(where, up, down))
    store.backlog_read()
    ours = [[sync.upstream_offset, sync.downstream_offset] for sync in store.slots(where)]
    assert answer["slots"] == ours
    assert answer["translations"] == [store.translate(where, offset) for offset in offsets]


def _int64(number: int) -> int:
    """What offsets may be in this test: the one behind the last is still one of Java's."""
    return max(0, min(number, 2**63 - 2))
