"""A broker that was silent for too long knows, for a moment, of no broker at all."""

from __future__ import annotations

import asyncio

import pytest

from mm2.errors import Unavailable
from mm2.kafka.admin import Admin
from mm2.kafka.groups.group_model import Group, GroupState, GroupType
from tests.support.fenced_broker import CLUSTER_ID, GROUP, FencedBroker, fenced_broker


def _admin(broker: FencedBroker, timeout_ms: int = 30_000) -> Admin:
    timeout = {"default.api.timeout.ms": str(timeout_ms)}
    return Admin("F", {"bootstrap.servers": f"127.0.0.1:{broker.port}", **timeout})


async def test_it_is_asked_again_until_it_is_let_in() -> None:
    async with fenced_broker() as broker:
        admin = _admin(broker)
        asking = asyncio.create_task(admin.cluster_id())
        await broker.asked.wait()
        broker.is_fenced = False
        assert await asking == CLUSTER_ID
        assert await admin.list_topics() == set()
        broker.is_fenced = True
        broker.asked.clear()
        listing = asyncio.create_task(admin.list_topics())
        await broker.asked.wait()
        broker.is_fenced = False
        assert await listing == set()
        await admin.close()


async def test_it_is_given_up_when_the_time_is_over() -> None:
    async with fenced_broker() as broker:
        admin = _admin(broker, timeout_ms=100)
        for call in (admin.cluster_id, admin.list_topics):
            with pytest.raises(Unavailable):
                await call()
        await admin.close()


async def test_groups_are_listed_once_a_broker_that_cannot_be_reached_is_known_to_be_gone() -> None:
    """Half a list is none; and what the lost broker had, others have then."""
    async with fenced_broker() as broker:
        broker.is_fenced = False
        broker.others = {2: 1}
        admin = _admin(broker)
        listing = asyncio.create_task(admin.groups_of_other_types())
        await broker.has_told.wait()
        broker.others = {}
        assert await listing == [Group(GROUP, GroupState.EMPTY, GroupType.SHARE)]
        await admin.close()
