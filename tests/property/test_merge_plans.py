"""
Random logs through the intake: whatever the batches are like, and whatever is merged, the records
that a consumer of the source would see are sent, each once and in order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import example, given
from hypothesis import strategies as st

from flows.source.fetch.contiguous_batches import each_batch, slices
from flows.source.forward.merge_batches import MergePolicy
from flows.source.forward.recode import recode, recode_bytes
from flows.source.forward.record_batch import (
    CONTROL,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    split,
)
from mm2.kafka.wire.compression import Compression
from tests.support.batches import (
    Plain,
    read_batch,
    read_header,
    with_checksum,
    write_batch,
    write_legacy,
)
from tests.support.forwarding import IntakeBench

_NOT_UTF8 = b"\xff\xfe"
_bytes = st.sampled_from([None, b"", b"x", _NOT_UTF8, b"y" * 700])
_header_keys = st.sampled_from([b"", b"same", b"same", "é".encode(), _NOT_UTF8])
_timestamps = st.sampled_from([-1, 0, 1 << 40]) | st.integers(0, 1 << 45)
_gaps = st.sampled_from([0, 0, 0, 6])
_contents = st.builds(
    Plain,
    timestamp=_timestamps,
    key=_bytes,
    value=_bytes,
    headers=st.lists(st.tuples(_header_keys, _bytes), max_size=2).map(tuple),
)


@dataclass(frozen=True)
class Entry:
    """
    One batch of a log.

    Attributes:
        data: its bytes.
        records: that a consumer sees unless they are aborted.
        producer: whose transaction it belongs to, if any.
        last: its last offset.
    """

    data: bytes
    records: list[Plain]
    producer: int | None
    last: int


@st.composite
def _entry(draw: st.DrawFn, offset: int) -> Entry:
    if draw(st.integers(0, 9)) == 0:
        return _legacy(draw, offset)
    contents = draw(st.lists(_contents, min_size=1, max_size=3))
    count = draw(st.sampled_from([1, 1, 1, 2, 3, 12, 0]))
    gap_at, gap, tail = draw(st.tuples(st.integers(0, 11), _gaps, _gaps))
    records = [
        replace(contents[n % len(contents)], offset=offset + n + (gap if n > gap_at else 0))
        for n in range(count)
    ]
    last = (records[-1].offset if records else offset) + tail
    bits = draw(st.sampled_from([0, 0, 0, TRANSACTIONAL, DELETE_HORIZON, LOG_APPEND_TIME]))
    producer = draw(st.integers(1, 2)) if bits == TRANSACTIONAL else None
    appended = 1 << 41 if bits == LOG_APPEND_TIME else None
    data = write_batch(
        records,
        codec_number=draw(st.sampled_from([0, 0, 0, 0, 1, 2, 3, 4])),
        attributes=bits,
        base_offset=None if records else offset,
        last_offset=last,
        base_timestamp=None if records else 0,
        max_timestamp=appended if records else -1,
        producer=(producer or -1, 0, 0),
    )
    if appended is not None:
        records = [replace(record, timestamp=appended) for record in records]
    return Entry(data, records, producer, last)


def _legacy(draw: st.DrawFn, offset: int) -> Entry:
    magic, codec = draw(st.integers(0, 1)), draw(st.integers(0, 2))
    messages = [
        (offset + number, 5, *draw(st.tuples(_bytes, _bytes)))
        for number in range(draw(st.integers(1, 3)) if codec else 1)
    ]
    records = [
        Plain(offset=at, timestamp=time if magic else -1, key=key, value=value)
        for at, time, key, value in messages
    ]
    data = write_legacy(messages, magic=magic, codec_number=codec)
    return Entry(data, records, None, messages[-1][0])


@dataclass(frozen=True)
class RandomLog:
    """
    Attributes:
        entries: in order, without markers.
        data: all bytes, with a marker where a transaction ends.
        aborted: first offsets of aborted transactions and their producers.
        hidden: offsets of aborted records.
    """

    entries: list[Entry]
    data: bytes
    aborted: tuple[tuple[int, int], ...]
    hidden: frozenset[int]
    end: int


@st.composite
def _logs(draw: st.DrawFn) -> RandomLog:
    offset = draw(st.sampled_from([0, 1 << 40]))
    entries: list[Entry] = []
    data = b""
    open_since: dict[int, list[Entry]] = {}
    aborted, hidden = [], set[int]()
    for _ in range(draw(st.integers(1, 8))):
        entry = draw(_entry(offset))
        entries.append(entry)
        data += entry.data
        offset = entry.last + 1
        if entry.producer is not None:
            open_since.setdefault(entry.producer, []).append(entry)
        for producer in [p for p in open_since if draw(st.integers(0, 2)) == 0]:
            began = open_since.pop(producer)
            if draw(st.booleans()):
                aborted.append((producer, split_offset(began[0])))
                hidden |= {r.offset for each in began for r in each.records}
            data += _marker(producer, offset)
            offset += 1
    return RandomLog(entries, data, tuple(aborted), frozenset(hidden), offset)


def split_offset(entry: Entry) -> int:
    return next(split(memoryview(entry.data))).base_offset


def _marker(producer: int, offset: int) -> bytes:
    return write_batch(
        [Plain(offset=offset, key=b"\0\0\0\1", value=b"\0\0\0\0\0\0")],
        attributes=TRANSACTIONAL | CONTROL,
        producer=(producer, 0, -1),
    )


_policies = st.builds(
    MergePolicy,
    compression=st.none() | st.builds(Compression, st.integers(0, 4)),
    most_bytes=st.sampled_from([1, 300, 2_000, 128 << 10]),
)


@given(
    log=_logs(),
    policy=_policies,
    read_committed=st.booleans(),
    skipped=st.integers(0, 20),
    cuts=st.lists(st.floats(0, 1), max_size=2),
)
def test_what_a_consumer_sees_is_sent_once_and_in_order(
    log: RandomLog, policy: MergePolicy, read_committed: bool, skipped: int, cuts: list[float]
) -> None:
    """C206, C208, C209, C210, C211, C228; answers end anywhere and begin before the position."""
    first = split_offset(log.entries[0])
    position = min(first + skipped, log.end)
    bench = IntakeBench(position, read_committed=read_committed, policy=policy)
    for cut in [*sorted(cuts), 1.0]:
        bench.take(log.data[: int(len(log.data) * cut)], aborted=log.aborted)
    expected = [
        record
        for entry in log.entries
        for record in entry.records
        if record.offset >= position and not (read_committed and record.offset in log.hidden)
    ]
    assert bench.partition.error is None
    assert [offset for batch in bench.sent for offset in batch] == [r.offset for r in expected]
    assert [r.content for r in bench.records] == [r.content for r in expected]
    assert bench.partition.fetch.position == log.end
    for batch in bench.sender.queue:
        header = read_header(batch.data)
        assert len(batch.offsets) == header.count == header.last_delta + 1 > 0
        assert not header.attributes & ~7
        if policy.compression is not None:
            assert header.attributes == policy.compression.codec


@given(log=_logs(), codec=st.integers(0, 4), skipped=st.integers(0, 20))
def test_the_compiled_codec_and_the_bytes_agree(log: RandomLog, codec: int, skipped: int) -> None:
    batches = [b for b in split(memoryview(log.data)) if b.count and not b.is_control]
    position = log.end - skipped
    fast = recode(batches, position, Compression(codec))
    slow = recode_bytes(batches, position, Compression(codec))
    assert fast == slow
    assert fast is None or len(read_batch(with_checksum(fast.data))) == len(fast.offsets)


@given(
    log=_logs(),
    transactional=st.booleans(),
    limit=st.sampled_from([1, 300, 1_000, 128 << 10]),
    cut=st.floats(0, 1),
)
def test_strips_hold_the_batches_in_order(
    log: RandomLog, transactional: bool, limit: int, cut: float
) -> None:
    data = memoryview(log.data[: int(len(log.data) * cut)])
    found = list(slices(data, transactional=transactional, limit=limit))
    assert each_batch(found) == list(split(data))
    for piece in found:
        if len(each_batch([piece])) > 1:
            assert len(piece.data) <= limit
            for batch in each_batch([piece]):
                batch.verify()
                assert not batch.is_control
                assert transactional or not batch.is_transactional


@given(log=_logs(), bit=st.integers(0, 1 << 20))
def test_a_damaged_batch_holds_up_only_what_follows_it(log: RandomLog, bit: int) -> None:
    batches = list(split(memoryview(log.data)))
    number = bit % len(batches)
    target = batches[number]
    start = sum(len(batch.data) for batch in batches[:number])
    damaged = bytearray(log.data)
    under_checksum = 21 if target.magic == 2 else 17
    damaged[start + under_checksum + bit % (len(target.data) - under_checksum)] ^= 1 << bit % 8
    bench = IntakeBench(0)
    bench.take(bytes(damaged))
    assert bench.partition.fetch.failed_reads == 1
    whole = [batch.last_offset for batch in batches[:number]]
    everything = [r.offset for entry in log.entries for r in entry.records]
    assert [o for batch in bench.sent for o in batch] == [
        offset for offset in everything if offset <= max(whole, default=-1)
    ]
    bench.take(log.data)
    assert [o for batch in bench.sent for o in batch] == everything
    assert (bench.partition.fetch.position, bench.partition.fetch.failed_reads) == (log.end, 0)


@example(codec=0, first=-1)
@given(codec=st.integers(0, 4), first=_timestamps)
def test_a_first_timestamp_of_none_is_kept(codec: int, first: int) -> None:
    bench = IntakeBench()
    times = [first, 7, -1, 3]
    bench.take(
        *(
            write_batch([Plain(offset=n, timestamp=t)], codec_number=codec)
            for n, t in enumerate(times)
        )
    )
    assert bench.sent == [[0, 1, 2, 3]]
    assert [record.timestamp for record in bench.records] == times
