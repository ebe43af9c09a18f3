"""
What commits and fetches of offsets are answered, as bytes.

Many partitions are written at once, with ``struct``, as ``offset_requests`` reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final, NamedTuple

from mm2.core.model import TopicName
from mm2.core.offset_manager.commits import OffsetError
from mm2.kafka.wire.frame import I16, I32, NO_TAGS, array, compact_array, compact_text, text
from mm2.offset_manager.server.messages import OFFSET_COMMIT, OFFSET_FETCH
from mm2.offset_manager.server.offset_requests import (
    COMMITTED,
    FLEXIBLE_SINCE,
    GROUPS_SINCE,
    ClientCommit,
    ClientFetch,
)

_FETCHED_EPOCH_SINCE: Final = 5
_ERROR_SINCE: Final = 2
_THROTTLE_SINCE: Final = 3

_ANSWERED: Final = {True: Struct(">ihB"), False: Struct(">ih")}
"""Of a partition of a commit, by whether the version is flexible."""

_TOLD_BARE: Final = Struct(">iqiBhB")
"""Of a flexible version, with empty metadata and no tags."""

_START: Final = Struct(">ii")
_NO_THROTTLE: Final = I32.pack(0)


class AnsweredOffset(NamedTuple):
    """What is answered for a partition of OffsetFetch; an offset of -1 is none."""

    partition: int
    offset: int
    leader_epoch: int
    metadata: str
    error: OffsetError


class AnsweredGroup(NamedTuple):
    """What is answered for a group of OffsetFetch."""

    group: str
    error: OffsetError
    topics: Sequence[tuple[TopicName, Sequence[AnsweredOffset]]]


def write_commit_answer(request: ClientCommit, error: OffsetError) -> bytes:
    """The answer to a commit, with its length; all partitions have the same error."""
    is_flexible = request.version >= FLEXIBLE_SINCE[OFFSET_COMMIT]
    pack = _ANSWERED[is_flexible].pack
    rest = (0,) if is_flexible else ()
    topics = (
        _topic(
            topic,
            [pack(each.partition, error, *rest) for each in partitions],
            is_flexible=is_flexible,
        )
        for topic, partitions in request.topics
    )
    throttle = _NO_THROTTLE if request.version >= _THROTTLE_SINCE else b""
    return _answer(request.correlation, throttle, _list(topics, is_flexible), is_flexible)


def write_fetch_answer(request: ClientFetch, groups: Sequence[AnsweredGroup]) -> bytes:
    """The answer to a fetch, with its length."""
    version = request.version
    is_flexible = version >= FLEXIBLE_SINCE[OFFSET_FETCH]
    throttle = _NO_THROTTLE if version >= _THROTTLE_SINCE else b""
    if version >= GROUPS_SINCE:
        encoded = (
            compact_text(each.group)
            + _answered_topics(each, version)
            + I16.pack(each.error)
            + NO_TAGS
            for each in groups
        )
        body = compact_array(encoded)
    else:
        (group,) = groups
        body = _answered_topics(group, version)
        if version >= _ERROR_SINCE:
            body += I16.pack(group.error)
    return _answer(request.correlation, throttle, body, is_flexible)


def _answered_topics(group: AnsweredGroup, version: int) -> bytes:
    is_flexible = version >= FLEXIBLE_SINCE[OFFSET_FETCH]
    has_epoch = version >= _FETCHED_EPOCH_SINCE
    encoded = (
        _topic(
            topic,
            [_answered(each, is_flexible=is_flexible, has_epoch=has_epoch) for each in offsets],
            is_flexible=is_flexible,
        )
        for topic, offsets in group.topics
    )
    return _list(encoded, is_flexible)


def _answered(told: AnsweredOffset, *, is_flexible: bool, has_epoch: bool) -> bytes:
    number, offset, epoch, metadata, error = told
    if is_flexible and not metadata:
        return _TOLD_BARE.pack(number, offset, epoch, 1, error, 0)
    layout = COMMITTED[has_epoch]
    head = layout.pack(number, offset, epoch) if has_epoch else layout.pack(number, offset)
    if is_flexible:
        return head + compact_text(metadata) + I16.pack(error) + NO_TAGS
    return head + text(metadata) + I16.pack(error)


def _topic(name: str, partitions: Sequence[bytes], *, is_flexible: bool) -> bytes:
    if is_flexible:
        return compact_text(name) + compact_array(partitions) + NO_TAGS
    return text(name) + array(partitions)


def _list(items: Iterable[bytes], is_flexible: bool) -> bytes:  # noqa: FBT001 - of the format
    return compact_array(items) if is_flexible else array(items)


def _answer(correlation: int, throttle: bytes, body: bytes, is_flexible: bool) -> bytes:  # noqa: FBT001 - of the format
    tags = NO_TAGS if is_flexible else b""
    rest = tags + throttle + body + tags
    return _START.pack(I32.size + len(rest), correlation) + rest
