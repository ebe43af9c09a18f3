"""
Asks the brokers that coordinate consumer groups: what a group has committed, and how it is.

These questions go through aiokafka's protocol classes and not through librdkafka, whose 2.16 fails
in outages: a call about a group that timed out while its coordinator was down leaves something
behind which, once that broker is back or the client is destroyed, aborts the whole process (an
assertion on ``eonce->refcnt``); where it does not, all later calls about that group time out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, TypeVar

from aiokafka import errors
from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType
from aiokafka.protocol.admin import (
    DescribeGroupsRequest_v0,
    DescribeGroupsRequest_v1,
    DescribeGroupsRequest_v2,
)
from aiokafka.protocol.api import Request
from aiokafka.protocol.commit import OffsetCommitRequest, OffsetFetchRequest
from confluent_kafka import KafkaError

from mm2.core.checkpoint import CommittedOffset
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import Unavailable
from mm2.kafka.errors import from_librdkafka, translated
from mm2.kafka.groups import PROTOCOL_STATES, Group, GroupState, GroupType
from mm2.kafka.login import raise_if_refused
from mm2.kafka.settings import aiokafka_settings

T = TypeVar("T")

_PAUSE_LEAST_S: Final = 0.05
_PAUSE_MOST_S: Final = 2.0
_CONNECT_AGAIN_S: Final = 0.5
"""While a cluster is away, all who wait for it make one attempt in this time, not one each."""

_NEVER_MS: Final = 2**31 - 1
_NO_GENERATION: Final = -1
_BROKEN: Final = (
    errors.KafkaConnectionError,
    errors.NodeNotReadyError,
    errors.RequestTimedOutError,
    OSError,
)
"""Connections are not what they were: brokers may have gone, or have other addresses now."""


class _DescribeGroupsRequest(
    Request[DescribeGroupsRequest_v0 | DescribeGroupsRequest_v1 | DescribeGroupsRequest_v2]
):
    """aiokafka's own, without version 3, whose answers it reads as if they were of version 2."""

    API_KEY = DescribeGroupsRequest_v0.API_KEY

    def __init__(self, group_id: str) -> None:
        self._group_id = group_id

    def build(self, request_struct_class: type[Any]) -> Any:
        return request_struct_class([self._group_id])


class Coordinators:
    """
    Makes the calls that a group's coordinator answers.

    Each call finds the coordinator, also when it moves or is restarted, and gives up after the
    timeout. Any number of calls may be under way. Nothing is connected before the first.

    Args:
        alias: the cluster's, for messages.
        properties: Java's client properties.
        timeout_s: of each call.
    """

    def __init__(self, alias: str, properties: Mapping[str, str], timeout_s: float) -> None:
        self.alias = alias
        self._properties = dict(properties)
        self._timeout_s = timeout_s
        self._client: AIOKafkaClient | None = None
        self._opening = asyncio.Lock()
        self._failed: tuple[float, Unavailable] | None = None
        self._nodes: dict[str, int] = {}

    async def close(self) -> None:
        """Closes all connections; may be called twice, and the object may be used again."""
        await self._drop(self._client)

    async def offsets(self, group_id: str) -> dict[TopicPartition, CommittedOffset]:
        """
        What a group has committed; empty for a group that does not exist.

        Raises:
            ClusterError: the cluster refuses, or does not answer in time.
        """
        what = f"list offsets of group {group_id}"
        request = OffsetFetchRequest(group_id, None)
        return await self._ask(group_id, what, request, partial(self._committed, what))

    async def commit(
        self, group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        """
        Commits offsets for a group without members; a group that does not exist is made.

        Raises:
            GroupInUse: it has members; nothing is committed.
            ClusterError: any other failure, maybe for some of the partitions only.
        """
        what = f"alter offsets of group {group_id}"
        ordered = groupby(sorted(offsets), key=attrgetter("topic"))
        topics = [
            (topic, [(each.partition, *_commit(offsets[each])) for each in partitions])
            for topic, partitions in ordered
        ]
        # Without generation and member, as Java's admin client does (KIP-396).
        request = OffsetCommitRequest(group_id, _NO_GENERATION, "", -1, topics)
        await self._ask(group_id, what, request, partial(self._check_commit, what))

    async def describe(self, group_id: str) -> Group:
        """
        How a group is; one that is not there, or of the new protocol (KIP-848), is dead.

        Raises:
            ClusterError: the cluster refuses, or does not answer in time.
        """
        what = f"describe group {group_id}"
        request = _DescribeGroupsRequest(group_id)
        return await self._ask(group_id, what, request, partial(self._group, what))

    def _committed(self, what: str, answer: Any) -> dict[TopicPartition, CommittedOffset]:
        self._check(answer.error_code, what)
        found: dict[TopicPartition, CommittedOffset] = {}
        for topic, partitions in answer.topics:
            for number, offset, metadata, code in partitions:
                self._check(code, f"{what}, {topic}-{number}")
                if offset >= 0:
                    where = TopicPartition(TopicName(topic), number)
                    found[where] = CommittedOffset(offset, metadata or "")
        return found

    def _check_commit(self, what: str, answer: Any) -> None:
        for topic, partitions in answer.topics:
            for number, code in partitions:
                self._check(code, f"{what}, {topic}-{number}")

    def _group(self, what: str, answer: Any) -> Group:
        ((code, group_id, state, *_),) = answer.groups
        self._check(code, what)
        return Group(group_id, PROTOCOL_STATES.get(state, GroupState.UNKNOWN), GroupType.CLASSIC)

    def _check(self, code: int, what: str) -> None:
        if code != KafkaError.NO_ERROR:
            raise from_librdkafka(self.alias, KafkaError(code), what)

    async def _ask(self, group_id: str, what: str, request: object, read: Callable[[Any], T]) -> T:
        """Asks until there is an answer that will not be another one in a moment."""
        pause_s, failure = _PAUSE_LEAST_S, Unavailable(self.alias, f"{what}: no answer in time")
        try:
            async with asyncio.timeout(self._timeout_s):
                while True:
                    try:
                        return read(await self._send(group_id, what, request))
                    except Unavailable as error:
                        failure = error
                    self._nodes.pop(group_id, None)
                    await asyncio.sleep(pause_s)
                    pause_s = min(2 * pause_s, _PAUSE_MOST_S)
        except TimeoutError:
            # A connection that swallows requests would swallow the next one too.
            await self._drop(self._client)
            raise failure from None

    async def _send(self, group_id: str, what: str, request: object) -> Any:
        client = await self._connected()
        with translated(self.alias, what):
            try:
                if group_id not in self._nodes:
                    self._nodes[group_id] = await client.coordinator_lookup(
                        CoordinationType.GROUP, group_id
                    )
                node = self._nodes[group_id]
                return await client.send(node, request, group=ConnectionGroup.COORDINATION)
            except _BROKEN:
                await self._drop(client)
                raise

    async def _connected(self) -> AIOKafkaClient:
        async with self._opening:
            if self._client is None:
                if self._failed and self._failed[0] > asyncio.get_running_loop().time():
                    raise self._failed[1]
                self._client = await self._open()
            return self._client

    async def _open(self) -> AIOKafkaClient:
        settings = await asyncio.to_thread(aiokafka_settings, self._properties)
        # Its metadata are of all topics, and of no use here.
        client = AIOKafkaClient(**{**settings, "metadata_max_age_ms": _NEVER_MS})
        try:
            with translated(self.alias, "connect"):
                await client.bootstrap()
        except Unavailable as error:
            await raise_if_refused(self.alias, settings)
            self._failed = asyncio.get_running_loop().time() + _CONNECT_AGAIN_S, error
            raise
        return client

    async def _drop(self, client: AIOKafkaClient | None) -> None:
        """Closes what is broken, unless somebody else has done so."""
        if self._client is not client or client is None:
            return
        self._client = None
        self._nodes.clear()
        await client.close()


def _commit(offset: CommittedOffset) -> tuple[int, str]:
    return offset.offset, offset.metadata
