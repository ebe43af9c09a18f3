"""A member of a group can have it decide anew at any time, also while it is still joining."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from mm2.kafka.membership import Membership
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

    def says(self) -> bytes:
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
        session_ms=30_000,
        heartbeat_ms=1_000,
    )

    async def decisions() -> list[bytes]:
        return assignor.heard

    member = asyncio.create_task(assignor.membership.run())
    try:
        await eventually_async(decisions, until=lambda heard: heard == [b"0", b"1"])
    finally:
        member.cancel()
        await asyncio.wait([member])
