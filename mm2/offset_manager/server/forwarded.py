"""
Requests that brokers answer: what they are about, and in which versions they are offered.

A client sends one to the broker that leads the partitions named in it. So the first partition says
where it belongs. Fetches of a session may name none: they go where the last one went.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from struct import Struct
from typing import Final

from mm2.core.model import TopicName, TopicPartition
from mm2.errors import SchemaError
from mm2.kafka.wire.frame import I32, Frame
from mm2.kafka.wire.relay import EncodedRequest

FETCH: Final = 1
LIST_OFFSETS: Final = 2
OFFSET_FOR_LEADER_EPOCH: Final = 23

FORWARDED: Final[Mapping[int, tuple[int, int]]] = {
    FETCH: (4, 10),
    LIST_OFFSETS: (1, 5),
    OFFSET_FOR_LEADER_EPOCH: (2, 3),
}
"""
The oldest and the newest version of each, by Kafka's number; brokers since Kafka 2.3 have them.

From version 11 on, a fetch may be answered with the name of a follower to ask; whom a client means
with a request could not be told any more.
"""

_HEADER: Final = Struct(">hhi")
_SESSION_SINCE: Final = 7
_ISOLATION_SINCE: Final = 2
_REPLICA_SINCE: Final = 3
_NO_REPLICA: Final = -1
"""What consumers say where followers have the number of their broker."""

_MOST_EMPTY: Final = 1_000
"""Topics without partitions in front of the first partition."""


@dataclass(frozen=True, slots=True)
class ForwardedRequest:
    """
    A request for a broker.

    Attributes:
        correlation: number by which the client knows the answer.
        client_id: what the client calls itself; may be empty.
        first: the first partition that it names; None if it names none.
    """

    correlation: int
    client_id: str
    encoded: EncodedRequest
    first: TopicPartition | None


def read_forwarded(frame: bytes) -> ForwardedRequest | None:
    """
    Reads a request as far as it has to be; None if it is not forwarded.

    Args:
        frame: without its length.

    Raises:
        SchemaError: it cannot be read, or is one of a broker that follows.
    """
    if len(frame) < _HEADER.size:
        raise SchemaError("a request is too short")
    api, version, correlation = _HEADER.unpack_from(frame)
    oldest, newest = FORWARDED.get(api, (0, -1))
    if not oldest <= version <= newest:
        return None
    cursor = Frame(memoryview(frame), _HEADER.size)
    try:
        client_id = cursor.text()
        encoded = EncodedRequest(api, version, cursor.view[cursor.at :])
        _refuse_followers(cursor, api, version)
        cursor.at += _fields_before_topics(api, version)
        return ForwardedRequest(correlation, client_id, encoded, _first_partition(cursor))
    except (struct.error, ValueError, IndexError) as error:
        raise SchemaError(f"a request of kind {api} cannot be read: {error}") from error


def _refuse_followers(cursor: Frame, api: int, version: int) -> None:
    """A leader would take records that nobody has for replicated: it goes by what it is asked."""
    if api == OFFSET_FOR_LEADER_EPOCH and version < _REPLICA_SINCE:
        return
    (replica,) = I32.unpack_from(cursor.view, cursor.at)
    if replica != _NO_REPLICA:
        raise SchemaError(f"a client says that it is the replica {replica}")


def _fields_before_topics(api: int, version: int) -> int:
    """The bytes of the fields before the list of topics."""
    if api == FETCH:
        # replica, longest wait, least and most bytes, isolation; session and its epoch
        return 4 * I32.size + 1 + (2 * I32.size if version >= _SESSION_SINCE else 0)
    if api == LIST_OFFSETS:
        return I32.size + (1 if version >= _ISOLATION_SINCE else 0)
    return I32.size if version >= _REPLICA_SINCE else 0


def _first_partition(cursor: Frame) -> TopicPartition | None:
    count = cursor.int32()
    for _ in range(min(count, _MOST_EMPTY)):
        topic = cursor.text()
        if cursor.int32() > 0:
            return TopicPartition(TopicName(topic), cursor.int32())
    if count > _MOST_EMPTY:
        raise ValueError(f"it names no partition in {_MOST_EMPTY} topics")
    return None


def header_of_answer(request: ForwardedRequest, body: memoryview) -> bytes:
    """What stands before the body of an answer, with its length."""
    return I32.pack(I32.size + len(body)) + I32.pack(request.correlation)
