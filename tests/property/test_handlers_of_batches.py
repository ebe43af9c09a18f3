"""What a message handler makes of whole batches is what it makes of records one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.source.transform.handler_batches import HandlerOfBatches, compile_handler_batches
from mm2.core.handled_records import SourceRecord, TargetRecord
from tests.support.batches import Plain
from tests.support.stage_bench import outcome_of


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    compile_handler_batches()


async def _later(record: SourceRecord) -> list[SourceRecord]:
    await asyncio.sleep(0)
    return [record]


def _fails(record: SourceRecord) -> list[SourceRecord]:
    raise ValueError(record.offset)


def _exits(record: SourceRecord) -> list[SourceRecord]:
    raise SystemExit(record.offset)


def _with(**changes: Any) -> Callable[[SourceRecord], object]:
    return lambda record: [replace(record, **changes)]


def _uses_list_again(record: SourceRecord) -> list[SourceRecord]:
    _LIST[:] = [replace(record, value=b"%d" % record.offset)]
    return _LIST


def _uses_headers_again(record: SourceRecord) -> list[SourceRecord]:
    _HEADERS[:] = [("at", b"%d" % record.offset)]
    return [_with_headers(record, _HEADERS)]


def _uses_header_again(record: SourceRecord) -> list[SourceRecord]:
    _HEADER[1] = b"%d" % record.offset
    return [_with_headers(record, (_HEADER,))]


def _uses_key_again(record: SourceRecord) -> list[SourceRecord]:
    _KEY[:] = b"%d" % record.offset
    return [record.replace(key=_KEY)]


def _with_headers(record: SourceRecord, headers: Any) -> SourceRecord:
    return replace(record, headers=headers)


_LIST: Final[list[SourceRecord]] = []
_HEADERS: Final[list[tuple[str, bytes]]] = []
_HEADER: Final[list[Any]] = ["at", b""]
_KEY: Final = bytearray()
_WAYS: Final[dict[str, Callable[[SourceRecord], object]]] = {
    "the same": lambda record: [record],
    "nothing": lambda _: [],
    "twice": lambda record: [record, record],
    "a tuple": lambda record: (record,),
    "a generator": lambda record: (each for each in [record]),
    "fails": _fails,
    "exits": _exits,
    "waits": _later,
    "None": lambda _: None,
    "text": lambda _: "no list",
    "numbers": lambda _: [1],
    "elsewhere": _with(topic="A.more"),
    "another partition": _with(partition=1),
    "any partition": lambda r: [TargetRecord(topic=r.topic, key=r.key, value=b"new")],
    "headers": _with(headers=(("a", b"1"), ("é", None), ("", b""))),
    "no value": _with(value=None, key=b""),
    "a time": _with(timestamp=7),
    "a value of text": _with(value="text"),
    "a number as value": _with(value=3),
    "an array as value": _with(value=bytearray(b"array")),
    "a topic that is none": _with(topic=["t"]),
    "a partition of text": _with(partition="1"),
    "the same list as before": _uses_list_again,
    "the same headers as before": _uses_headers_again,
    "the same header as before": _uses_header_again,
    "the same key as before": _uses_key_again,
    "no such partition": _with(partition=2),
    "a key of text": _with(key="text"),
    "a header of text": _with(headers=(("a", "text"),)),
    "a header without a value": _with(headers=(("a",),)),
    "headers of another type": _with(headers=3),
    "a name of no UTF-8": _with(headers=(("\udcff", b""),)),
    "a time before all times": _with(timestamp=-2),
    "a time of text": _with(timestamp="now"),
    "a time after all times": _with(timestamp=1 << 63),
}
_times = st.integers(-1, 4_000_000_000_000) | st.sampled_from([0, 1 << 60])
_records = st.builds(
    Plain,
    timestamp=_times,
    key=st.none() | st.binary(max_size=3),
    value=st.none() | st.binary(max_size=9),
    headers=st.lists(
        st.tuples(st.sampled_from([b"a", b"\xc3\xa9", b"\xff"]), st.none() | st.binary(max_size=2)),
        max_size=2,
    ).map(tuple),
)


class _Handler:
    """Handles each record as its place in a list says."""

    def __init__(self, ways: Sequence[str]) -> None:
        self._ways = ways
        self.calls: list[int] = []

    def __call__(self, record: SourceRecord) -> Any:
        self.calls.append(record.offset)
        return _WAYS[self._ways[record.offset // 3 % len(self._ways)]](record)


@given(
    records=st.lists(_records, min_size=1, max_size=20),
    ways=st.lists(st.sampled_from(sorted(_WAYS)), min_size=1, max_size=8),
    cut=st.integers(0, 20),
    most=st.sampled_from([1 << 19, 60, 1]),
)
def test_the_same_is_sent_and_each_record_is_handled_once(
    records: list[Plain], ways: list[str], cut: int, most: int
) -> None:
    records = [replace(record, offset=3 * at) for at, record in enumerate(records)]
    batches = [part for part in (records[:cut], records[cut:]) if part]
    alone, together = _Handler(ways), _Handler(ways)
    expected = asyncio.run(outcome_of(alone, batches, most))
    assert asyncio.run(outcome_of(HandlerOfBatches(together, least=1), batches, most)) == expected
    assert together.calls == alone.calls == [record.offset for record in records]
