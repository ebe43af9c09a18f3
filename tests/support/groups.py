"""What tests of consumer groups ask of brokers."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from mm2.core.model import ClusterAlias
from mm2.kafka.admin import Admin
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
