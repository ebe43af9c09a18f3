"""A client of a task knows the id of its cluster, also when another one serves that address."""

from __future__ import annotations

import pytest

from mm2.kafka.client_settings import aiokafka_settings
from mm2.kafka.wire.nodes import NodesClient
from mm2.kafka.wire.requests.metadata import BrokerMetadata, Metadata
from mm2.kafka.wire.wire_client import WireClient


async def test_it_is_known_from_the_start_and_after_each_refresh(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ids = iter(["first", "second"])

    async def answer(*_: object) -> Metadata:
        return Metadata(next(ids), [BrokerMetadata(1, "127.0.0.1", 1, "")], 1, [])

    monkeypatch.setattr(NodesClient, "_bootstrap_from", answer)
    monkeypatch.setattr(NodesClient, "ask", answer)
    client = WireClient("A", aiokafka_settings({"bootstrap.servers": "127.0.0.1:1"}))
    found = [client.cluster_id]
    try:
        await client.start()
        found.append(client.cluster_id)
        await client.refresh()
        found.append(client.cluster_id)
    finally:
        await client.close()
    assert found == ["", "first", "second"]
