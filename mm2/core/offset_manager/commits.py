"""
What groups commit, and which commits are refused.

A commit is taken whole or not at all: what is wrong with one partition refuses all of them, and
each is answered with the same error.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from mm2.core.model import TopicPartition
from mm2.core.topics.topic_name import is_topic_name

DEFAULT_METADATA_BYTES: Final = 4096
"""As ``offset.metadata.max.bytes`` of Kafka's brokers."""

_MOST_PARTITION: Final = 2**31 - 1
_MOST_TEXT_BYTES: Final = 2**15 - 1
"""A text of the Kafka protocol has its length in 16 bits."""


class OffsetError(IntEnum):
    """What a request is answered; Kafka's error codes by Kafka's names."""

    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    OFFSET_METADATA_TOO_LARGE = 12
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    ILLEGAL_GENERATION = 22
    INVALID_GROUP_ID = 24
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30


class StoredOffset(NamedTuple):
    """
    What a group has committed for a partition; a tuple, for a commit makes many.

    Attributes:
        offset: the next one to read.
        commit_ms: when it was committed.
        metadata: the group's own words.
        leader_epoch: of the record before; -1 if unknown.
        expire_ms: when it expires; None: some time after the group's last commit.
    """

    offset: int
    commit_ms: int
    metadata: str = ""
    leader_epoch: int = -1
    expire_ms: int | None = None


def commit_refusal(
    group: str, offsets: Mapping[TopicPartition, StoredOffset], *, metadata_bytes: int
) -> OffsetError:
    """
    Why a commit is refused as a whole; ``NONE`` if it is not.

    Args:
        group: who commits.
        offsets: what it commits.
        metadata_bytes: the most that metadata of one partition may have, in UTF-8.
    """
    if not group or len(group.encode()) > _MOST_TEXT_BYTES:
        return OffsetError.INVALID_GROUP_ID
    most = min(metadata_bytes, _MOST_TEXT_BYTES)
    valid = None
    for (topic, partition), stored in offsets.items():
        if topic != valid and not is_topic_name(topic):
            return OffsetError.INVALID_TOPIC_EXCEPTION
        valid = topic
        if not 0 <= partition <= _MOST_PARTITION or stored.offset < 0:
            return OffsetError.UNKNOWN_TOPIC_OR_PARTITION
        if stored.metadata and len(stored.metadata.encode()) > most:
            return OffsetError.OFFSET_METADATA_TOO_LARGE
    return OffsetError.NONE
