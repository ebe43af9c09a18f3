"""The model of connectors that tests use is asked what real ones are."""

from __future__ import annotations

from tests.support.fake_connectors import SOURCE, FakeConnectors
from tests.support.rest import interface
from tests.support.rest_contract import check_connectors


async def test_connectors_in_memory_keep_the_contract() -> None:
    where = {"cluster": "A", "partition": 0, "topic": "t"}
    async with interface(FakeConnectors()) as client:
        await check_connectors(client, SOURCE, where)
