"""Connects aiokafka's clients, which take any answer for a cluster that is there."""

from __future__ import annotations

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaConnectionError

from mm2.kafka.cancelling import cancellable


async def connected(client: AIOKafkaConsumer | AIOKafkaProducer) -> None:
    """
    Starts a client.

    Raises:
        KafkaError: the cluster is not there, or refuses us.
    """
    await cancellable(client.start())
    require_brokers(client._client if isinstance(client, AIOKafkaConsumer) else client.client)  # noqa: SLF001 - consumers do not show it


def require_brokers(client: AIOKafkaClient) -> None:
    """
    Makes sure that whoever has answered knows a broker that serves.

    A broker without any, itself included, is fenced by its controllers: while it starts, and when
    it has not been heard for a while. aiokafka goes on with it: it takes topics for missing, and
    fails with an ``AssertionError`` where it looks for a coordinator.

    Raises:
        KafkaConnectionError: there is none.
    """
    if not client.cluster.brokers():
        raise KafkaConnectionError(
            "the cluster cannot be reached: whoever answers knows of no broker that serves"
        )
