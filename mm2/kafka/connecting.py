"""Connects aiokafka's clients by way of our own connections."""

from __future__ import annotations

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from mm2.kafka.cancelling import cancellable
from mm2.kafka.logs.odd_records import read_odd_records
from mm2.kafka.wire.nodes import NodesClient


async def connected(client: AIOKafkaConsumer | AIOKafkaProducer) -> None:
    """
    Starts a client.

    Raises:
        KafkaError: the cluster is not there, or refuses us.
    """
    theirs = client._client if isinstance(client, AIOKafkaConsumer) else client.client  # noqa: SLF001 - consumers do not show it
    NodesClient.adopt(theirs)
    read_odd_records()
    await cancellable(client.start())
