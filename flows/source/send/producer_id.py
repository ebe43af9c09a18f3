"""The producer id of a bundle on the target, and its renewal."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from flows.source.superseded import check_leader
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import ClusterError, NotAuthorized, Unavailable
from mm2.kafka.wire.fencing import fencing_identity, partitions_of, renew
from mm2.kafka.wire.identity import ProducerIdentity, producer_identity
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import UNUSED_TIMEOUT_MS, BundleSpec

log = structlog.get_logger()

_PLAIN_AFTER_S: Final = 20.0
_EXPIRATION: Final = "transactional.id.expiration.ms"
_EXPIRES_MS: Final = 7 * 86_400_000
"""Kafka's default."""

_RENEWALS: Final = 7
"""Within the expiration: each day, by default."""

_RENEW_WITHIN_S: Final = 60.0


async def take_identity(spec: BundleSpec, target: WireClient) -> ProducerIdentity:
    """
    Connects to the target and takes the bundle's identity, if its leader still leads.

    Raises:
        Fenced: another leader has the bundle, or no node leads.
        ClusterError: the target does not answer, or refuses.
    """
    async with asyncio.TaskGroup() as group:
        group.create_task(target.start(), name="target")
        group.create_task(check_leader(spec), name="leader")
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
        return await _fencing_identity(spec, target)
    except ClusterError as error:
        log.warning("source.fencing_unavailable", error=str(error))
        return await producer_identity(target, None)


async def _fencing_identity(spec: BundleSpec, target: WireClient) -> ProducerIdentity:
    """Refuses an earlier task at once what it may still write, and what we may never write to."""
    if spec.unsure:
        try:
            return await fencing_identity(
                target,
                spec.transactional_id,
                [*spec.unsure, *await partitions_of(target, spec.offsets_topic)],
                flow=str(spec.flow),
                transaction_timeout_ms=UNUSED_TIMEOUT_MS,
                within_s=_PLAIN_AFTER_S,
            )
        except Unavailable as error:
            # One partition without a leader must not hold up the others.
            log.warning("source.fencing_unavailable", error=str(error))
    return await producer_identity(
        target,
        spec.transactional_id,
        transaction_timeout_ms=UNUSED_TIMEOUT_MS,
        within_s=_PLAIN_AFTER_S,
    )


async def renew_transactional_id(
    spec: BundleSpec, target: WireClient, identity: ProducerIdentity
) -> None:
    """
    Renews the transactional id of a task that makes no transactions, again and again.

    Brokers forget ids without transactions after ``transactional.id.expiration.ms``, a week unless
    set otherwise; the next task would have another producer id then, and refuse this one nothing.

    Raises:
        Fenced: a newer task has the id.
        TransactionLost: the target has forgotten it; a new task must take over.
    """
    if identity.transactional_id is None or spec.exactly_once is not None:
        return
    where = TopicPartition(TopicName(spec.progress_topic), 0)
    every_s = await _renew_every_s(target)
    while True:
        await asyncio.sleep(every_s)
        try:
            async with asyncio.timeout(_RENEW_WITHIN_S):
                await renew(target, identity, where, flow=str(spec.flow))
        except (TimeoutError, ClusterError) as error:
            log.debug("source.transactional_id_not_renewed", error=str(error))


async def _renew_every_s(target: WireClient) -> float:
    try:
        expires_ms = int(
            (await target.broker_settings((_EXPIRATION,))).get(_EXPIRATION, _EXPIRES_MS)
        )
    except ClusterError:
        # Who may not see the settings gets none of them; the broker may also be away.
        expires_ms = _EXPIRES_MS
    return expires_ms / 1000 / _RENEWALS
