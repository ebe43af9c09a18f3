"""Members of a group: when it decides anew, and who may not keep it from deciding."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from aiokafka import AIOKafkaConsumer

from mm2.kafka.groups.membership import Membership, MemberTimes
from tests.support.cluster import Cluster
from tests.support.eventually import eventually_async
from tests.support.records import create_topic

pytestmark = pytest.mark.broker


class Counting:
    """Doubts the first decision as soon as it hears of it."""

    name = "counting"

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.membership: Membership

    def subscription_user_data(self) -> bytes:
        return b"%d" % len(self.heard)

    def decide(self, said: Mapping[str, bytes]) -> tuple[str, bytes]:
        ((member, data),) = said.items()
        return member, data

    def decided(self, decision: bytes) -> None:
        self.heard.append(decision)
        if len(self.heard) == 1:
            self.membership.rejoin()


async def test_a_decision_that_is_doubted_while_joining_is_taken_again(
    cluster_a: Cluster, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    assignor = Counting()
    assignor.membership = Membership(
        "A",
        {"bootstrap.servers": cluster_a.bootstrap},
        group_id=topic_name,
        topic=topic_name,
        assignor=assignor,
        times=MemberTimes(session=30_000, heartbeat=1_000, rebalance=30_000),
    )

    async def decisions() -> list[bytes]:
        return assignor.heard

    member = asyncio.create_task(assignor.membership.run())
    try:
        await eventually_async(decisions, until=lambda heard: heard == [b"0", b"1"])
    finally:
        member.cancel()
        await asyncio.wait([member])


class _Agreeing(Counting):
    """Decides who is in the group."""

    def decide(self, said: Mapping[str, bytes]) -> tuple[str, bytes]:
        return next(iter(said)), b"%d" % len(said)

    def decided(self, decision: bytes) -> None:
        self.heard.append(decision)


class _Garbage:
    """An assignor whose metadata are none."""

    name = Counting.name

    def metadata(self, _: object) -> _Garbage:
        return self

    def encode(self) -> bytes:
        return b"\xff"

    def on_assignment(self, _: object) -> None:
        """Takes whatever it gets."""


async def test_a_member_that_says_garbage_does_not_keep_the_others_from_deciding(
    cluster_a: Cluster, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    assignor = _Agreeing()
    membership = Membership(
        "A",
        {"bootstrap.servers": cluster_a.bootstrap},
        group_id=topic_name,
        topic=topic_name,
        assignor=assignor,
        times=MemberTimes(session=30_000, heartbeat=500, rebalance=30_000),
    )

    async def last() -> bytes:
        assert not member.done(), member.exception()
        return assignor.heard[-1] if assignor.heard else b""

    member = asyncio.create_task(membership.run())
    try:
        await eventually_async(last, until=lambda heard: heard == b"1")
        hostile = AIOKafkaConsumer(
            topic_name,
            bootstrap_servers=cluster_a.bootstrap,
            group_id=topic_name,
            enable_auto_commit=False,
            partition_assignment_strategy=(_Garbage(),),
        )
        starting = asyncio.create_task(hostile.start())
        await eventually_async(last, until=lambda heard: heard == b"2")
        await starting
        await hostile.stop()
    finally:
        member.cancel()
        await asyncio.wait([member])
