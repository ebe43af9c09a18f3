"""What tests of consumer groups ask of brokers."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType
from aiokafka.errors import GroupCoordinatorNotAvailableError
from aiokafka.protocol.group import JoinGroupRequest

from mm2.core.model import ClusterAlias
from mm2.kafka.admin import Admin
from tests.support.eventually import eventually_async
from tests.support.providers import have_new_groups

needs_new_groups = pytest.mark.skipif(
    not have_new_groups(), reason="brokers before 4.0 know the new consumer protocol as a preview"
)
PROTOCOLS = ("classic", pytest.param("consumer", marks=needs_new_groups))
"""Of consumer groups, as ``group.protocol`` names them; a parameter of tests."""


def group_offsets(bootstrap: str, group: str) -> dict[tuple[str, int], int]:
    """
    What a group has committed, by topic and partition.

    Not asked through librdkafka, which crashes if a coordinator that has just started refuses.
    """

    async def ask() -> dict[tuple[str, int], int]:
        admin = Admin(ClusterAlias("asked"), {"bootstrap.servers": bootstrap})
        try:
            found = await admin.list_group_offsets(group)
        finally:
            await admin.close()
        return {(str(at.topic), at.partition): commit.offset for at, commit in found.items()}

    # A thread of its own, for tests that run in an event loop themselves.
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(lambda: asyncio.run(ask())).result()


_MEMBER_ID_REQUIRED = 79


def join_as_connect_worker(bootstrap: str, group: str) -> None:
    """Makes a member of a group that speaks as Connect's workers do; it is gone after 30 s."""

    async def join() -> None:
        client = AIOKafkaClient(bootstrap_servers=bootstrap)
        await client.bootstrap()
        try:
            await eventually_async(lambda: _join(client, group), until=lambda code: code == 0)
        finally:
            await client.close()

    asyncio.run(join())


async def _join(client: AIOKafkaClient, group: str) -> int:
    """One attempt, and its error code; a coordinator may be unknown, or know nothing as yet."""
    try:
        node = await client.coordinator_lookup(CoordinationType.GROUP, group)
    except GroupCoordinatorNotAvailableError as error:
        raise AssertionError("no coordinator yet") from error
    member = ""
    while True:
        request = JoinGroupRequest(
            group, 30_000, 30_000, member, "", "connect", [("sessioned", b"")]
        )
        answer = await client.send(node, request, group=ConnectionGroup.COORDINATION)
        if answer.error_code != _MEMBER_ID_REQUIRED:
            break
        member = answer.member_id
    return int(answer.error_code)
