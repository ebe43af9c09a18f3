"""What exactly-once mirroring takes beside the bundles: bounds, and fencing (KIP-618)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

import structlog

from mm2.config.flow_config import FlowConfig, data_producer
from mm2.config.transaction_settings import TransactionSettings, read_transactions
from mm2.core.model import TopicPartition
from mm2.errors import ClusterError, FlowError, NotAuthorized
from mm2.kafka.client_settings import aiokafka_settings
from mm2.kafka.wire.fencing import fencing_identity, partitions_of
from mm2.kafka.wire.identity import producer_identity
from mm2.kafka.wire.wire_client import WireClient
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import BOUNDARY, UNUSED_TIMEOUT_MS, ExactlyOnceSpec
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import Assignment, BundleState
from mm2.stop_deadlines import CONTROL_WRITE_S

log = structlog.get_logger()

_AT_THE_SAME_TIME: Final = 16
_STRICT_WITHIN_S: Final = 60.0
_ELSE_WITHIN_S: Final = 5.0

_JAVA_TASKS: Final = 64
"""With ``tasks.max=auto``: how many tasks Java may have had before; ours are known."""

Connect = Callable[[str, Mapping[str, object]], WireClient]


def transactional_id(config: FlowConfig, bundle: int) -> str:
    """The id under which a bundle's task writes, the same that Java's task of that number has."""
    return f"{config.herder.group_id}-{config.herder.names.connector}-{bundle}"


def exactly_once_spec(config: FlowConfig, producer: Mapping[str, str]) -> ExactlyOnceSpec | None:
    """
    Transactions as the user bounds them, well within the time that the target allows.

    None unless the worker's ``exactly.once.source.support`` is "enabled". "preparing" is for Java's
    leaders only, which must be able to fence before tasks write in transactions; ours always are.
    """
    if config.herder.exactly_once != "enabled":
        return None
    settings = read_transactions(
        config.source.properties, flush_interval=config.herder.offset_flush_interval
    )
    timeout_ms = settings.timeout_ms(producer)
    every_s = BOUNDARY.most_s if settings.every is None else settings.every.total_seconds()
    boundary = replace(
        BOUNDARY,
        most_s=min(every_s, timeout_ms / 2000),
        ends_when_drained=settings.every is None,
    )
    return ExactlyOnceSpec(
        group=config.herder.names.positions_group, timeout_ms=timeout_ms, boundary=boundary
    )


async def fence_earlier_tasks(
    config: FlowConfig,
    earlier: int,
    connect: Connect = WireClient,
    *,
    unsure: Mapping[int, Collection[TopicPartition]] | None = None,
) -> bool:
    """
    Makes sure that no task of an earlier leader writes any more, and ends what it left open.

    A partition may be in another bundle now, whose task reads its position before the old bundle's
    id is used again, if it ever is: there may be fewer tasks than before (Java:
    ``fenceZombieSourceTasks``). Returns whether it is certain.

    Args:
        earlier: how many bundles there may have been.
        unsure: remote partitions that tasks of these bundles may still write to; at least once,
            brokers are told of each of them, and of the positions topic's.

    Raises:
        ClusterError: exactly once, when the target does not let us.
    """
    is_strict = config.herder.exactly_once == "enabled"
    bundles = max(earlier, config.source.tasks_max or _JAVA_TASKS) if is_strict else earlier
    if bundles == 0:
        return True
    properties = data_producer(config, 0).properties
    client = connect(config.flow.target, aiokafka_settings(properties))
    try:
        await client.start()
        ids = [transactional_id(config, bundle) for bundle in range(bundles)]
        timeout_ms = TransactionSettings.timeout_ms(properties) if is_strict else UNUSED_TIMEOUT_MS
        within_s = _STRICT_WITHIN_S if is_strict else _ELSE_WITHIN_S
        await _fence(client, ids, timeout_ms=timeout_ms, within_s=within_s)
        if not is_strict:
            await _fence_partitions(config, client, unsure or {})
    except (ClusterError, FlowError) as error:
        if is_strict:
            raise
        log.warning("source.fencing_unavailable", error=str(error))
        return False
    else:
        log.info("flow.fenced", tasks=bundles)
        return True
    finally:
        await client.close()


async def end_earlier_tasks(
    config: FlowConfig,
    assignments: Collection[Assignment],
    writer: Writer,
    connect: Connect = WireClient,
) -> dict[int, set[TopicPartition]]:
    """
    Fences the tasks of an earlier leader, and has the control topic say that they have ended.

    Otherwise each leader would fence those again whose bundles are not started any more.

    Args:
        assignments: the last of each bundle.

    Returns:
        Remote partitions that the tasks of bundles may still write to: they could not be fenced.

    Raises:
        ClusterError: exactly once, when the target does not let us fence them.
    """
    unsure = [each for each in assignments if not each.is_drained and each.remotes]
    remotes = {each.index: each.remotes for each in unsure}
    earlier = max((each.index + 1 for each in assignments), default=0)
    if not await fence_earlier_tasks(config, earlier, connect, unsure=remotes):
        return remotes
    await _publish_ended(config.herder.names.control_topic, unsure, writer)
    return {}


async def _publish_ended(topic: str, assignments: Iterable[Assignment], writer: Writer) -> None:
    try:
        async with asyncio.timeout(CONTROL_WRITE_S):
            for each in assignments:
                ended = replace(each, state=BundleState.STOPPED, is_drained=True)
                await writer.send(topic, *encode_control(ended), partition=0)
    except (TimeoutError, ClusterError) as error:
        log.debug("bundle.stop_not_delivered", error=str(error))


async def _fence(client: WireClient, ids: list[str], *, timeout_ms: int, within_s: float) -> None:
    room = asyncio.Semaphore(_AT_THE_SAME_TIME)

    async def fence(each: str) -> None:
        async with room:
            try:
                await producer_identity(
                    client, each, transaction_timeout_ms=timeout_ms, within_s=within_s
                )
            except NotAuthorized as error:
                needs = f"the mirror needs Write and Describe on transactional id {each}"
                raise NotAuthorized(client.alias, f"{error}; {needs}") from error

    await asyncio.gather(*(fence(each) for each in ids))


async def _fence_partitions(
    config: FlowConfig, client: WireClient, unsure: Mapping[int, Collection[TopicPartition]]
) -> None:
    """In transactions a producer that was replaced can begin none, and needs no more than that."""
    if not any(unsure.values()):
        return
    positions = await partitions_of(client, config.herder.offsets_topic)
    fencing = (
        fencing_identity(
            client,
            transactional_id(config, bundle),
            [*partitions, *positions],
            flow=str(config.flow),
            transaction_timeout_ms=UNUSED_TIMEOUT_MS,
            within_s=_ELSE_WITHIN_S,
        )
        for bundle, partitions in unsure.items()
        if partitions
    )
    await asyncio.gather(*fencing)
