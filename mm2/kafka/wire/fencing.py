"""
Has the target refuse what an earlier producer of the same transactional id may still send.

A broker refuses an older producer epoch on partitions where it has seen the newer one, and on no
others. So a transaction without records is begun over the partitions, and aborted: its markers
carry the newer epoch. A copy has a gap of one offset then, as after any transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.errors import Unavailable
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.identity import ProducerIdentity, producer_identity
from mm2.kafka.wire.transactional_producer import TransactionalProducer
from mm2.kafka.wire.wire_client import WireClient

_WITHOUT_OFFSETS: Final = GroupId("")


async def fencing_identity(
    client: WireClient,
    transactional_id: str,
    partitions: Collection[TopicPartition],
    *,
    flow: str,
    transaction_timeout_ms: int,
    within_s: float,
) -> ProducerIdentity:
    """
    Asks for a producer id that all brokers prefer to earlier ones, on these partitions at once.

    Args:
        transactional_id: whose earlier producers are to be refused.
        partitions: what they may still write to; those that do not exist, or that nobody leads, are
            left out: their markers would be waited for.
        transaction_timeout_ms: after which brokers abort what is left open.
        within_s: how long all of it may take, in seconds.

    Raises:
        Fenced: somebody has asked for the id since.
        NotAuthorized: we may not use the id.
        TransactionLost: the coordinator has lost the id meanwhile.
        Unavailable: it is not done in time; brokers may refuse them on some of the partitions.
    """

    async def ask() -> ProducerIdentity:
        return await producer_identity(
            client,
            transactional_id,
            transaction_timeout_ms=transaction_timeout_ms,
            within_s=within_s,
        )

    try:
        async with asyncio.timeout(within_s):
            identity = await ask()
            if not await _add(client, flow, identity, await _led(client, partitions)):
                return identity
            # Who asks anew has the transaction aborted, and is answered once all markers are there.
            return await ask()
    except TimeoutError as error:
        message = f"{transactional_id!r} cannot be fenced within {within_s:g} s"
        raise Unavailable(client.alias, message) from error


async def renew(
    client: WireClient, identity: ProducerIdentity, partition: TopicPartition, *, flow: str
) -> None:
    """
    Has the coordinator remember a transactional id, by an aborted transaction without records.

    Raises:
        Fenced: a newer producer has it.
        TransactionLost: the coordinator has forgotten it.
        NotAuthorized: we may not use it.
    """
    if await _add(client, flow, identity, [partition]):
        await _producer(client, flow, identity).end(commit=False)


async def partitions_of(client: WireClient, topic: str) -> list[TopicPartition]:
    """
    All partitions of a topic, tracked or not; none if it is not there.

    Raises:
        Unavailable: nobody answers.
    """
    found = (await client.describe([topic]))[topic]
    return [TopicPartition(TopicName(topic), number) for number in sorted(found.partitions)]


async def _led(client: WireClient, partitions: Collection[TopicPartition]) -> list[TopicPartition]:
    topics = await client.describe({where.topic for where in partitions})
    return [
        where
        for where in partitions
        if (found := topics[where.topic].partitions.get(where.partition)) and found.leader >= 0
    ]


async def _add(
    client: WireClient,
    flow: str,
    identity: ProducerIdentity,
    partitions: Collection[TopicPartition],
) -> bool:
    """Begins a transaction over those that exist; says whether there are any."""
    producer, wanted = _producer(client, flow, identity), set(partitions)
    while wanted:
        refused = await producer.add_partitions(wanted)
        if not refused:
            return True
        wanted -= {w for w, code in refused.items() if code != Code.OPERATION_NOT_ATTEMPTED}
    return False


def _producer(client: WireClient, flow: str, identity: ProducerIdentity) -> TransactionalProducer:
    return TransactionalProducer(
        client,
        flow=flow,
        transactional_id=identity.transactional_id or "",
        identity=identity,
        group=_WITHOUT_OFFSETS,
    )
