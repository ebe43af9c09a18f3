"""What a cluster knows a producer by, and how it is asked for."""

from __future__ import annotations

from dataclasses import dataclass

import stamina
from aiokafka.client import CoordinationType
from aiokafka.protocol.transaction import InitProducerIdRequest

from mm2.errors import ClusterError, NotAuthorized, Unavailable
from mm2.kafka.wire.error_codes import RETRIABLE, Code, code_name
from mm2.kafka.wire.wire_client import WireClient


@dataclass(frozen=True, slots=True)
class ProducerIdentity:
    """
    What a broker knows an idempotent producer by.

    Attributes:
        epoch: grows each time the same transactional id asks again; older epochs are refused.
        transactional_id: that it was given out for; None for a plain producer.
    """

    producer_id: int
    epoch: int
    transactional_id: str | None = None


async def producer_identity(
    client: WireClient,
    transactional_id: str | None,
    *,
    transaction_timeout_ms: int = 60_000,
    within_s: float = 60.0,
) -> ProducerIdentity:
    """
    Asks for a producer id; with a transactional id this fences all who had it before.

    Raises:
        NotAuthorized: the cluster does not let us use the transactional id, or write at all.
        ClusterError: the cluster does not let transactions take so long.
        Unavailable: no coordinator could be found in ``within_s`` seconds.
    """
    async for attempt in stamina.retry_context(
        on=Unavailable, attempts=None, timeout=within_s, wait_initial=0.02, wait_max=0.25
    ):
        with attempt:
            return await _ask(client, transactional_id, transaction_timeout_ms)
    raise AssertionError("the retry context either returns or raises")


async def _ask(
    client: WireClient, transactional_id: str | None, timeout_ms: int
) -> ProducerIdentity:
    if transactional_id is None:
        node = client.any_node()
    else:
        node = await client.coordinator(CoordinationType.TRANSACTION, transactional_id)
    response = await client.ask(node, InitProducerIdRequest(transactional_id, timeout_ms))
    code = response.error_code
    if code == Code.NONE:
        return ProducerIdentity(response.producer_id, response.producer_epoch, transactional_id)
    message = f"a producer id for {transactional_id!r} is refused: {code_name(code)}"
    if code in RETRIABLE and code != Code.CLUSTER_AUTHORIZATION_FAILED:
        raise Unavailable(client.alias, message)
    if code == Code.INVALID_TRANSACTION_TIMEOUT:
        remedy = "set transaction.timeout.ms to transaction.max.timeout.ms of the brokers or less"
        raise ClusterError(client.alias, f"{message}; {remedy}")
    raise NotAuthorized(client.alias, message)
