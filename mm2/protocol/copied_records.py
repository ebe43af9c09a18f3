"""
Records ``copied-...`` of the control topic: what all tasks together have copied of partitions.

A leader writes them, so that the counts of a flow go on when another node leads it. Each has up to
a thousand partitions of one topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from mm2.core.copy_totals import CopyTotal, Counts, TaskCounts
from mm2.core.model import NO_OFFSET, TopicName, TopicPartition
from mm2.protocol.codec import decode, encode

_PREFIX: Final = b"copied-"
_PARTITIONS: Final = 1000
"""In one record; brokers take a mebibyte by default."""

Totals = Mapping[TopicPartition, CopyTotal]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Total:
    """One partition; the fields are those of ``CopyTotal`` and ``TaskCounts``."""

    partition: int
    before: tuple[int, ...]
    counts: tuple[int, ...]
    run: str
    position: int
    first: int
    at_ms: int
    untold: int = 0
    over: bool = False
    open_at: int = NO_OFFSET


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copied:
    topic: str
    partitions: tuple[_Total, ...]


def key_of(source: TopicPartition) -> bytes:
    """The key of the record that has a partition."""
    return _PREFIX + f"{source.partition // _PARTITIONS}-{source.topic}".encode()


def is_of_copied(key: bytes | None) -> bool:
    """Tells such a record from the others of the topic by its key."""
    return key is not None and key.startswith(_PREFIX)


def encode_copied(totals: Totals) -> bytes:
    """The value of the record that has these partitions, all of one topic."""
    topic = next(iter(totals)).topic
    found = tuple(_stored(each, total) for each, total in sorted(totals.items()))
    return encode(_Copied(topic=topic, partitions=tuple(each for each in found if each)))


def decode_copied(value: bytes) -> dict[TopicPartition, CopyTotal]:
    """
    The partitions of a record.

    Raises:
        SchemaError: it is damaged.
    """
    record = decode(_Copied, value, "record of what was copied")
    return {
        TopicPartition(TopicName(record.topic), each.partition): _total(each)
        for each in record.partitions
    }


def by_record(sources: Iterable[TopicPartition]) -> Iterator[tuple[bytes, list[TopicPartition]]]:
    """The partitions that go into the same record, by its key."""
    found: dict[bytes, list[TopicPartition]] = {}
    for each in sources:
        found.setdefault(key_of(each), []).append(each)
    yield from found.items()


def _stored(source: TopicPartition, total: CopyTotal) -> _Total | None:
    last = total.last
    if last is None:
        return None
    return _Total(
        partition=source.partition,
        before=tuple(total.before),
        counts=tuple(last.counts),
        run=last.run,
        position=last.position,
        first=last.first,
        at_ms=last.at_ms,
        untold=total.unreported,
        over=total.is_over,
        open_at=total.open_at,
    )


def _total(stored: _Total) -> CopyTotal:
    last = TaskCounts(
        run=stored.run,
        counts=_counts(stored.counts),
        position=stored.position,
        first=stored.first,
        at_ms=stored.at_ms,
    )
    return CopyTotal(
        before=_counts(stored.before),
        last=last,
        unreported=stored.untold,
        is_over=stored.over,
        open_at=stored.open_at,
    )


def _counts(stored: tuple[int, ...]) -> Counts:
    """A newer release may count more."""
    return Counts(*stored[: len(Counts._fields)])
