"""
Membership in a group whose members agree on something else than who reads which partition.

The classic protocol of consumer groups, with an assignor of the caller's: its members tell each
other whatever they like, one of them decides, and all of them learn of the decision.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, Self

from aiokafka import AIOKafkaConsumer
from aiokafka.consumer import group_coordinator
from aiokafka.coordinator.protocol import (
    ConsumerProtocol,
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)
from aiokafka.errors import InconsistentGroupProtocolError, KafkaError

from mm2.errors import ClusterError
from mm2.kafka.cancelling import cancellable
from mm2.kafka.client_errors import translated
from mm2.kafka.client_settings import aiokafka_settings, milliseconds
from mm2.kafka.connecting import connected, with_client
from mm2.kafka.wire.nodes import NodesClient
from mm2.stop_deadlines import MEMBERSHIP_S

_SESSION_MS: Final = 6_000
"""The shortest that brokers allow by default; Java's default, of which no worker hears, is 10 s."""

_HEARTBEAT_MS: Final = 2_000
_POLL_MS: Final = 1_000


class MemberTimes(NamedTuple):
    """
    How long the broker of a group has patience with a member, in ms.

    Attributes:
        session: silence after which a member counts as gone.
        heartbeat: how often members report; they hear of a rebalance in no other way.
        rebalance: how long a rebalance waits for members that were there before.
    """

    session: int
    heartbeat: int
    rebalance: int

    @classmethod
    def of(cls, worker: Mapping[str, str]) -> Self:
        """
        Those of a worker, whose user's own values count.

        Raises:
            ConfigError: one is no number.
        """
        session = milliseconds(worker, "session.timeout.ms", _SESSION_MS)
        heartbeat = milliseconds(worker, "heartbeat.interval.ms", _HEARTBEAT_MS)
        rebalance = milliseconds(worker, "rebalance.timeout.ms", session)
        return cls(session, min(heartbeat, session // 3), rebalance)


class _Metadata(ConsumerProtocolMemberMetadata):
    """
    What a member says when it joins; anybody who may join the group may say anything.

    What cannot be read is nothing, and not an error that keeps the others from deciding. Of its
    topics the first is known, as members of ours have one: nobody makes us ask for thousands.
    """

    @classmethod
    def decode(cls, data: bytes) -> ConsumerProtocolMemberMetadata:
        """Reads the metadata of the consumer protocol."""
        try:
            said = super().decode(data)
            return ConsumerProtocolMemberMetadata(
                said.version, list(said.subscription or ())[:1], said.user_data
            )
        except Exception:  # noqa: BLE001 - whatever its parser raises is about these bytes
            return ConsumerProtocolMemberMetadata(0, [], b"")


class _Protocol(ConsumerProtocol):
    METADATA = _Metadata


# aiokafka has no way to be told how to read it.
group_coordinator.ConsumerProtocol = _Protocol


class OtherProtocol(ClusterError):
    """The group has members that speak another protocol, or have another assignor."""


class Assignor(Protocol):
    """What the members of a group agree on, and how."""

    name: str

    def subscription_user_data(self) -> bytes:
        """What this member says of itself; asked for at each rebalance."""
        ...

    def decide(self, said: Mapping[str, bytes]) -> tuple[str, bytes]:
        """
        Decides for all: the member that is shown as the one with the partition, and the decision.

        Args:
            said: what the members say of themselves, by their ids in the group.
        """
        ...

    def decided(self, decision: bytes) -> None:
        """Learns what the group has decided; it stays in force until the next decision."""
        ...


class Membership:
    """
    Membership of one client in one group.

    Args:
        topic: an existing topic of one partition, which stands for what is decided about.
    """

    def __init__(
        self,
        alias: str,
        properties: Mapping[str, str],
        *,
        group_id: str,
        topic: str,
        assignor: Assignor,
        times: MemberTimes,
    ) -> None:
        self._alias = alias
        self._properties = dict(properties)
        self._group_id = group_id
        self._topic = topic
        self._assignor = _Adapter(assignor, topic)
        self._times = times
        self._consumer: AIOKafkaConsumer | None = None
        self._is_outdated = False

    def rejoin(self) -> None:
        """Has the group decide again: now, or once this client has joined."""
        self._is_outdated = True
        self._ask_again()

    def _ask_again(self) -> None:
        if self._consumer is not None and self._is_outdated:
            self._is_outdated = False
            self._consumer.subscribe([self._topic])

    async def run(self) -> None:
        """
        Is a member until cancelled, and leaves the group then.

        Raises:
            OtherProtocol: others are in the group, who do not get on with this member.
            ClusterError: the group cannot be joined, or the membership is lost.
        """
        try:
            with translated(self._alias, f"join group {self._group_id}"):
                await self._run()
        except ClusterError as error:
            if isinstance(error.__cause__, InconsistentGroupProtocolError):
                raise OtherProtocol(self._alias, f"group {self._group_id} is not ours") from error
            raise

    async def _run(self) -> None:
        settings = await asyncio.to_thread(aiokafka_settings, self._properties)
        consumer, client = with_client(partial(self._consumer_of, settings))
        # What this member says when it joins is what counts now.
        self._is_outdated = False
        try:
            await connected(consumer)
            self._consumer = consumer
            self._ask_again()
            while True:
                # There is nothing to read; but errors of the membership come up here.
                consumer.pause(*consumer.assignment())
                await consumer.getmany(timeout_ms=_POLL_MS)
        finally:
            self._consumer = None
            await _close(consumer, client)

    def _consumer_of(self, settings: Mapping[str, object]) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            self._topic,
            **settings,
            group_id=self._group_id,
            enable_auto_commit=False,
            session_timeout_ms=self._times.session,
            heartbeat_interval_ms=self._times.heartbeat,
            rebalance_timeout_ms=self._times.rebalance,
            partition_assignment_strategy=(self._assignor,),
            consumer_timeout_ms=_POLL_MS,  # it would look five times a second for what to fetch
        )


async def _close(consumer: AIOKafkaConsumer, client: NodesClient) -> None:
    """Leaves the group; a rebalance that goes on is not waited for for long."""
    try:
        async with asyncio.timeout(MEMBERSHIP_S):
            await cancellable(consumer.stop())
    except (TimeoutError, KafkaError):
        await client.close()


class _Adapter:
    """What aiokafka asks of an assignor; an object, where its own are classes."""

    def __init__(self, assignor: Assignor, topic: str) -> None:
        self.name = assignor.name
        self._assignor = assignor
        self._topic = topic

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolMemberMetadata:
        """What this member says when it joins."""
        return ConsumerProtocolMemberMetadata(
            0, list(topics), self._assignor.subscription_user_data()
        )

    def assign(
        self, _cluster: Any, members: Mapping[str, ConsumerProtocolMemberMetadata]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        """Decides for the whole group, if the broker has chosen this member to."""
        said = {each: bytes(metadata.user_data or b"") for each, metadata in members.items()}
        chosen, decision = self._assignor.decide(said)
        return {
            each: ConsumerProtocolMemberAssignment(
                0, [(self._topic, [0])] if each == chosen else [], decision
            )
            for each in members
        }

    def on_assignment(self, assignment: ConsumerProtocolMemberAssignment) -> None:
        """Learns what the group has decided."""
        self._assignor.decided(bytes(assignment.user_data or b""))
