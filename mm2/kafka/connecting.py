"""Connects aiokafka's clients by way of our own connections."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.consumer import consumer as consumers
from aiokafka.producer import producer as producers

from mm2.kafka.cancelling import cancellable
from mm2.kafka.logs.odd_records import read_odd_records
from mm2.kafka.wire.nodes import NodesClient

T = TypeVar("T")

_made: Final[ContextVar[list[NodesClient] | None]] = ContextVar("made", default=None)
"""Where whoever wants to know finds what was made; it is kept no longer than that."""


def _nodes_client(**settings: Any) -> NodesClient:
    client = NodesClient(**settings)
    made = _made.get()
    if made is not None:
        made.append(client)
    return client


# They make their clients themselves, and take none: these are the names that they look up.
consumers.AIOKafkaClient = _nodes_client
producers.AIOKafkaClient = _nodes_client


def with_client(make: Callable[[], T]) -> tuple[T, NodesClient]:
    """What ``make`` makes, a consumer or producer, and its client, which it does not show."""
    clients: list[NodesClient] = []
    token = _made.set(clients)
    try:
        return make(), clients[0]
    finally:
        _made.reset(token)


async def connected(client: AIOKafkaConsumer | AIOKafkaProducer) -> None:
    """
    Starts a client.

    Raises:
        KafkaError: the cluster is not there, or refuses us.
    """
    read_odd_records()
    await cancellable(client.start())
