"""Commits and fetches of offsets, as clients of any version ask for them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Final

from mm2.clock import now_ms
from mm2.core.model import TopicName, TopicPartition
from mm2.core.offset_manager.commits import OffsetError, StoredOffset
from mm2.errors import SchemaError
from mm2.offset_manager.instance import OffsetManager
from mm2.offset_manager.server.client_rights import ClientRights
from mm2.offset_manager.server.offset_answer_frames import (
    AnsweredGroup,
    AnsweredOffset,
    write_commit_answer,
    write_fetch_answer,
)
from mm2.offset_manager.server.offset_requests import (
    AskedGroup,
    ClientCommit,
    ClientFetch,
)

_MOST_ANSWERED: Final = 64 << 20
_TOLD_BYTES: Final = 20
_LATEST_MS: Final = 2**63 - 1
"""The last time that a record can hold."""


async def answer_offset_request(
    manager: OffsetManager, rights: ClientRights | None, request: ClientCommit | ClientFetch
) -> bytes:
    """
    Commits or fetches; returns the answer as it is sent.

    Args:
        manager: keeps the offsets.
        rights: of the client; None where clients do not log in.
        request: what the client asks.

    Raises:
        ClusterError: the cluster does not say what the client may do.
        SchemaError: the answer would be too large.
    """
    if isinstance(request, ClientCommit):
        return write_commit_answer(request, await _commit(manager, rights, request))
    refusals = [
        OffsetError.NONE if rights is None else await rights.fetch_refusal(each.group)
        for each in request.groups
    ]
    # At once, so that those in the same log partition have the log confirm it together.
    groups = await asyncio.gather(*map(partial(_fetched, manager), request.groups, refusals))
    if rights is not None:
        named = {topic for each in groups if not each.error for topic, _ in each.topics}
        hidden = await rights.hidden_topics(named)
        groups = [
            _without(hidden, told, is_all=asked.topics is None)
            for asked, told in zip(request.groups, groups, strict=True)
        ]
    if sum(map(_size, groups)) > _MOST_ANSWERED:
        raise SchemaError(f"the answer to a fetch would have more than {_MOST_ANSWERED} bytes")
    return write_fetch_answer(request, groups)


async def _commit(
    manager: OffsetManager, rights: ClientRights | None, request: ClientCommit
) -> OffsetError:
    """All partitions are answered with the same error, for the commit is one."""
    if request.generation >= 0:
        return OffsetError.ILLEGAL_GENERATION
    if rights is not None:
        topics = [topic for topic, _ in request.topics]
        if refusal := await rights.commit_refusal(request.group, topics):
            return refusal
    commit_ms = now_ms()
    latest_ms = min(commit_ms + request.retention_ms, _LATEST_MS)
    expire_ms = None if request.retention_ms < 0 else latest_ms
    return await manager.commit(
        request.group,
        {
            TopicPartition(topic, number): StoredOffset(
                offset, commit_ms, metadata, epoch, expire_ms
            )
            for topic, partitions in request.topics
            for number, offset, epoch, metadata in partitions
        },
    )


async def _fetched(manager: OffsetManager, asked: AskedGroup, error: OffsetError) -> AnsweredGroup:
    topics = asked.topics
    partitions = None if topics is None else _partitions(topics)
    found: Mapping[TopicPartition, StoredOffset] = {}
    if not error:
        error, found = await manager.fetch(asked.group, partitions)
    if not error:
        wanted = sorted(found) if partitions is None else partitions
        return AnsweredGroup(asked.group, error, _topics(wanted, found))
    # Of each partition as well: aiokafka looks at nothing else, and would begin from the start.
    refused = [
        (topic, _refused((each.partition for each in several), error))
        for topic, several in groupby(partitions or (), key=attrgetter("topic"))
    ]
    return AnsweredGroup(asked.group, error, refused)


def _without(hidden: Collection[str], told: AnsweredGroup, *, is_all: bool) -> AnsweredGroup:
    """As brokers have it: who asks for all topics does not hear of those that it may not see."""
    error = OffsetError.TOPIC_AUTHORIZATION_FAILED
    topics = [
        (topic, _refused((each.partition for each in offsets), error))
        if topic in hidden and not told.error
        else (topic, offsets)
        for topic, offsets in told.topics
        if not (is_all and topic in hidden)
    ]
    return AnsweredGroup(told.group, told.error, topics)


def _refused(partitions: Iterable[int], error: OffsetError) -> list[AnsweredOffset]:
    return [AnsweredOffset(each, -1, -1, "", error) for each in partitions]


def _topics(
    wanted: Iterable[TopicPartition], found: Mapping[TopicPartition, StoredOffset]
) -> list[tuple[TopicName, list[AnsweredOffset]]]:
    return [
        (topic, [_answered(each, found.get(each)) for each in partitions])
        for topic, partitions in groupby(wanted, key=attrgetter("topic"))
    ]


def _answered(where: TopicPartition, stored: StoredOffset | None) -> AnsweredOffset:
    if stored is None:
        return AnsweredOffset(where.partition, -1, -1, "", OffsetError.NONE)
    offset, _, metadata, epoch, _ = stored
    return AnsweredOffset(where.partition, offset, epoch, metadata, OffsetError.NONE)


def _partitions(topics: Iterable[tuple[TopicName, Sequence[int]]]) -> list[TopicPartition]:
    """Each once, however often it is asked about."""
    return list(
        dict.fromkeys(
            TopicPartition(topic, number) for topic, numbers in topics for number in numbers
        )
    )


def _size(group: AnsweredGroup) -> int:
    """About the bytes of what is answered for a group."""
    return sum(
        len(topic) + sum(_TOLD_BYTES + len(each.metadata) for each in offsets)
        for topic, offsets in group.topics
    )
