"""Who a bundle is to the target's brokers."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from flows.source.outranked import look_who_leads
from mm2.errors import ClusterError, NotAuthorized
from mm2.herder.bundle import UNUSED_TIMEOUT_MS, BundleSpec
from mm2.kafka.wire.client import WireClient
from mm2.kafka.wire.identity import ProducerIdentity, producer_identity

log = structlog.get_logger()

_PLAIN_AFTER_S: Final = 20.0


async def take_identity(spec: BundleSpec, target: WireClient) -> ProducerIdentity:
    """
    Connects to the target and takes the bundle's identity, if its leader still leads.

    Raises:
        Fenced: another leader has the bundle, or nobody leads.
        ClusterError: the target does not answer, or refuses.
    """
    async with asyncio.TaskGroup() as group:
        group.create_task(target.start(), name="target")
        group.create_task(look_who_leads(spec), name="look")
    return await bundle_identity(spec, target)


async def bundle_identity(spec: BundleSpec, target: WireClient) -> ProducerIdentity:
    """
    The producer id of the bundle's transactional id, which fences the task that had it before.

    Java's at-least-once mirroring needs neither permission on transactional ids nor a transaction
    coordinator; where the target has none for us, a plain producer id does, and a paused task that
    wakes up is not fenced. Exactly once there is no such way out.

    Raises:
        NotAuthorized: we may not write in transactions.
        ClusterError: the target does not let transactions take so long.
        Unavailable: no coordinator answers.
    """
    if spec.exactly_once is not None:
        try:
            return await producer_identity(
                target,
                spec.transactional_id,
                transaction_timeout_ms=spec.exactly_once.timeout_ms,
            )
        except NotAuthorized as error:
            needs = f"exactly once needs Write and Describe on {spec.transactional_id!r}"
            raise NotAuthorized(target.alias, f"{error}; {needs}") from error
    try:
        return await producer_identity(
            target,
            spec.transactional_id,
            transaction_timeout_ms=UNUSED_TIMEOUT_MS,
            within_s=_PLAIN_AFTER_S,
        )
    except ClusterError as error:
        log.warning("source.fencing_unavailable", error=str(error))
        return await producer_identity(target, None)
