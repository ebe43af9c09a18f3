"""
Requests that change nothing, by whose errors one sees what one may do to a group.

Brokers look at rights before anything else, and tell clients their rights in no other way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from aiokafka.client import CoordinationType
from aiokafka.protocol.commit import OffsetCommitRequest
from aiokafka.protocol.coordination import FindCoordinatorRequest

_NO_PARTITION: Final = 2**31 - 1
"""No topic has it, so a commit for it is stored nowhere."""

_NO_GENERATION: Final = -1
_AS_LONG_AS_ALL: Final = -1


def may_commit_request(group: str, topics: Iterable[str]) -> OffsetCommitRequest:
    """Asks any broker: without Read on group and topic the error is 30 or 29, and 3 with it."""
    asked = [(topic, [(_NO_PARTITION, 0, "")]) for topic in topics]
    return OffsetCommitRequest(group, _NO_GENERATION, "", _AS_LONG_AS_ALL, asked)


def may_describe_request(group: str) -> FindCoordinatorRequest:
    """Asks any broker: without Describe on the group the error is 30."""
    return FindCoordinatorRequest(group, CoordinationType.GROUP)
