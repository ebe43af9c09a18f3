"""
Commits and fetches of offsets, as clients send them.

A commit has many partitions, so it is read with ``struct``, and its answer written likewise: kio's
objects for each of them took most of an instance's time.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Final, NamedTuple, TypeVar

from mm2.core.model import TopicName
from mm2.errors import SchemaError
from mm2.kafka.wire.frame import I32, Frame
from mm2.offset_manager.server.messages import ANSWERED, OFFSET_COMMIT, OFFSET_FETCH

T = TypeVar("T")

FLEXIBLE_SINCE: Final = {OFFSET_COMMIT: 8, OFFSET_FETCH: 6}
_HEADER: Final = Struct(">hhi")
_RETENTION: Final = Struct(">q")
_MOST_VARINT_BITS: Final = 35
_MOST_NAME_BYTES: Final = 2**15 - 1
_MOST_ITEMS: Final = 200_000
"""Groups, topics and partitions of one request."""

_MOST_GROUPS: Final = 1_000

_RETENTION_UNTIL: Final = 4
_INSTANCE_SINCE: Final = 7
_COMMITTED_EPOCH_SINCE: Final = 6

_ALL_TOPICS_SINCE: Final = 2
GROUPS_SINCE: Final = 8
_MEMBER_SINCE: Final = 9
_STABLE_SINCE: Final = 7

COMMITTED: Final = {True: Struct(">iqi"), False: Struct(">iq")}
_COMMITTED_BARE: Final = {True: Struct(">iqiH"), False: Struct(">iqH")}
"""The same, by whether it has an epoch, with no metadata."""

_NO_METADATA: Final = {True: frozenset({0x0000, 0x0100}), False: frozenset({0x0000, 0xFFFF})}
"""
What stands there for metadata that are empty or null, by whether the version is flexible.

There it is a length of one byte, and a byte for no tags.
"""


class CommittedPartition(NamedTuple):
    """What a client commits for a partition."""

    partition: int
    offset: int
    leader_epoch: int
    metadata: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCommit:
    """
    OffsetCommit.

    Attributes:
        generation: of the group, or a member's epoch; negative if there is none.
        retention_ms: for how long the offsets are to be kept; negative if that is not said.
        topics: in the client's order.
    """

    version: int
    correlation: int
    group: str
    generation: int
    retention_ms: int
    topics: Sequence[tuple[TopicName, Sequence[CommittedPartition]]]


class AskedGroup(NamedTuple):
    """A group of OffsetFetch; topics of None ask for all that it has committed."""

    group: str
    topics: Sequence[tuple[TopicName, Sequence[int]]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFetch:
    """OffsetFetch; before version 8 there is one group."""

    version: int
    correlation: int
    groups: Sequence[AskedGroup]


def read_offset_request(frame: bytes) -> ClientCommit | ClientFetch | None:
    """
    Reads a commit or a fetch; None if it is another request, or in a version not answered.

    Args:
        frame: without its length.

    Raises:
        SchemaError: it cannot be read.
    """
    if len(frame) < _HEADER.size:
        raise SchemaError("a request is too short")
    api, version, correlation = _HEADER.unpack_from(frame)
    oldest, newest = ANSWERED[api] if api in FLEXIBLE_SINCE else (0, -1)
    if not oldest <= version <= newest:
        return None
    read = _commit if api == OFFSET_COMMIT else _fetch
    try:
        cursor = _Cursor(memoryview(frame), is_flexible=version >= FLEXIBLE_SINCE[api])
        found = read(cursor, version, correlation)
        cursor.end_structure()
    except (struct.error, ValueError, IndexError) as error:
        raise SchemaError(f"a request of kind {api} cannot be read: {error}") from error
    if cursor.at > len(frame):
        raise SchemaError(f"a request of kind {api} is too short")
    return found


class _Cursor(Frame):
    """Over a client's request, whose lengths may be anything, behind its header."""

    def __init__(self, view: memoryview, *, is_flexible: bool) -> None:
        super().__init__(view, _HEADER.size)
        self.is_flexible = is_flexible
        self._items = 0
        Frame.text(self)  # the client's id, which is never compact
        self.end_structure()

    def uvarint(self) -> int:
        value = shift = 0
        while shift < _MOST_VARINT_BITS:
            byte = self.view[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:  # noqa: PLR2004 - the bit that says that more follows
                return value
            shift += 7
        raise ValueError("a number of variable length is too long")

    def word(self) -> str:
        """A text; empty if null."""
        return self.compact_text() if self.is_flexible else self.text()

    def name(self) -> str:
        """The name of a group or a topic."""
        size = self.uvarint() - 1 if self.is_flexible else self.int16()
        if not 0 <= size <= _MOST_NAME_BYTES:
            raise ValueError("a name is null or too long")
        return self._text(size)

    def count(self, *, is_nullable: bool = False) -> int:
        """How many items follow; negative if the list is null."""
        count = self.uvarint() - 1 if self.is_flexible else self.int32()
        if count < 0 and not is_nullable:
            raise ValueError("a list is null")
        self._items += max(count, 0)
        if self._items > _MOST_ITEMS:
            raise ValueError(f"it has more than {_MOST_ITEMS} groups, topics and partitions")
        return count

    def several(self, item: Callable[[], T]) -> list[T]:
        """What ``item`` reads, as often as the number before them says."""
        return [item() for _ in range(self.count())]

    def end_structure(self) -> None:
        """Passes over what no version has defined so far."""
        if self.is_flexible:
            self.skip_tags()


def _commit(cursor: _Cursor, version: int, correlation: int) -> ClientCommit:
    group, generation, _member = cursor.name(), cursor.int32(), cursor.word()
    if version >= _INSTANCE_SINCE:
        cursor.word()
    retention_ms = -1
    if version <= _RETENTION_UNTIL:
        (retention_ms,) = cursor.unpack(_RETENTION)
    has_epoch = version >= _COMMITTED_EPOCH_SINCE
    return ClientCommit(
        version=version,
        correlation=correlation,
        group=group,
        generation=generation,
        retention_ms=retention_ms,
        topics=cursor.several(lambda: _committed_topic(cursor, has_epoch=has_epoch)),
    )


def _committed_topic(
    cursor: _Cursor, *, has_epoch: bool
) -> tuple[TopicName, list[CommittedPartition]]:
    topic, count = TopicName(cursor.name()), cursor.count()
    partitions = _bare_partitions(cursor, count, has_epoch=has_epoch)
    if partitions is None:
        partitions = [_committed_partition(cursor, has_epoch=has_epoch) for _ in range(count)]
    cursor.end_structure()
    return topic, partitions


def _bare_partitions(
    cursor: _Cursor, count: int, *, has_epoch: bool
) -> list[CommittedPartition] | None:
    """Partitions of which none has metadata, at once; None if some have."""
    layout, empty = _COMMITTED_BARE[has_epoch], _NO_METADATA[cursor.is_flexible]
    end = cursor.at + count * layout.size
    if end > len(cursor.view):
        return None
    rows = list(layout.iter_unpack(cursor.view[cursor.at : end]))
    if any(row[-1] not in empty for row in rows):
        return None
    cursor.at = end
    if has_epoch:
        return [CommittedPartition(number, offset, e, "") for number, offset, e, _ in rows]
    return [CommittedPartition(number, offset, -1, "") for number, offset, _ in rows]


def _committed_partition(cursor: _Cursor, *, has_epoch: bool) -> CommittedPartition:
    number, offset, *epoch = cursor.unpack(COMMITTED[has_epoch])
    metadata = cursor.word()
    cursor.end_structure()
    return CommittedPartition(number, offset, epoch[0] if epoch else -1, metadata)


def _fetch(cursor: _Cursor, version: int, correlation: int) -> ClientFetch:
    if version >= GROUPS_SINCE:
        groups = cursor.several(lambda: _asked_group(cursor, version))
    else:
        groups = [AskedGroup(cursor.name(), _asked_topics(cursor, version))]
    if len(groups) > _MOST_GROUPS or len({each.group for each in groups}) < len(groups):
        raise ValueError(f"it has more than {_MOST_GROUPS} groups, or one twice")
    if version >= _STABLE_SINCE:
        cursor.flag()
    return ClientFetch(version=version, correlation=correlation, groups=groups)


def _asked_group(cursor: _Cursor, version: int) -> AskedGroup:
    group = cursor.name()
    if version >= _MEMBER_SINCE:
        cursor.word()
        cursor.int32()
    topics = _asked_topics(cursor, version)
    cursor.end_structure()
    return AskedGroup(group, topics)


def _asked_topics(cursor: _Cursor, version: int) -> list[tuple[TopicName, list[int]]] | None:
    count = cursor.count(is_nullable=version >= _ALL_TOPICS_SINCE)
    return None if count < 0 else [_asked_topic(cursor) for _ in range(count)]


def _asked_topic(cursor: _Cursor) -> tuple[TopicName, list[int]]:
    topic, count = TopicName(cursor.name()), cursor.count()
    end = cursor.at + count * I32.size
    if end > len(cursor.view):
        raise ValueError("a list is longer than the request")
    numbers = [number for (number,) in I32.iter_unpack(cursor.view[cursor.at : end])]
    cursor.at = end
    cursor.end_structure()
    return topic, numbers
