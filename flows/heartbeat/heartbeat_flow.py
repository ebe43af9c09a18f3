"""
The heartbeat flow: writes at an interval to the target's ``heartbeats`` topic.

Java: ``MirrorHeartbeatConnector`` and its task (behaviours section 10). The flow back mirrors the
topic, so that both clusters, and those behind them, see which cluster mirrors which.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from flows.heartbeat.heartbeat_reporter import HeartbeatReport
from mm2.aligned_waits import aligned
from mm2.clock import now_ms
from mm2.config.clients import data_producer_properties
from mm2.config.flow_config import FlowConfig
from mm2.config.transforms.chain_reading import chain_of_bytes
from mm2.core.internal_records import Heartbeat
from mm2.core.model import HEARTBEAT_CONNECTOR, TopicName
from mm2.core.policy import build_policy
from mm2.core.transforms import TransformChain, own_record
from mm2.errors import ClusterError, TransformError
from mm2.kafka.flow_clusters import FlowClusters
from mm2.kafka.writer import Writer

log = structlog.get_logger()

_PAUSE_S: Final = 1.0
"""Least wait after a failure, whatever the interval is."""


async def run_heartbeats(config: FlowConfig, clusters: FlowClusters) -> None:
    """
    Writes a heartbeat after each interval until cancelled; ends at once when they are off (C310).

    Whether the flow itself is enabled makes no difference (C311). A heartbeat that cannot be
    written is dropped, for the next one is newer. Some come with a report about the
    heartbeats that arrive.

    Raises:
        ConfigError: the producer's settings cannot be used.
    """
    settings = config.heartbeat
    for refusal in settings.refusals:
        log.error("connector.refused", connector=HEARTBEAT_CONNECTOR, reason=refusal)
    if not settings.runs or settings.emit_heartbeats is None:
        return
    interval_s = settings.emit_heartbeats.total_seconds()
    policy = build_policy(settings.properties)
    progress = config.herder.names.progress_topic
    report = HeartbeatReport(config.flow, policy, clusters.target, progress, now_ms)
    while True:
        try:
            await _beat(config, policy.heartbeats_topic(), interval_s, report)
        except ClusterError as error:
            # A refused write leaves a gap in the producer's numbering: go on with a new one.
            log.warning("heartbeat.refused", error=str(error))
            await asyncio.sleep(_PAUSE_S)


async def _beat(
    config: FlowConfig, topic: TopicName, interval_s: float, report: HeartbeatReport
) -> None:
    """
    Writes heartbeats until the cluster refuses one; waits first, as Java does (C317).

    Raises:
        ClusterError: no producer can be had, or its record is refused.
    """
    producer = data_producer_properties(config.worker, config.heartbeat.properties, 0)
    chain = chain_of_bytes(config.heartbeat.properties)
    async with Writer(config.flow.target, producer.properties) as writer:
        await asyncio.sleep(aligned(interval_s, at_least=True))
        while True:
            heartbeat = Heartbeat(config.flow.source, config.flow.target, now_ms())
            try:
                await send(writer, topic, heartbeat, chain)
            except (ClusterError, TransformError) as error:
                if isinstance(error, ClusterError) and not error.retriable:
                    raise
                log.warning("heartbeat.not_sent", error=str(error))
                await asyncio.sleep(_PAUSE_S)
            else:
                await report.after(heartbeat.timestamp_ms, writer)
            await asyncio.sleep(aligned(interval_s))


async def send(
    writer: Writer, topic: str, heartbeat: Heartbeat, chain: TransformChain | None = None
) -> None:
    """
    Writes one heartbeat, stamped with its own time, to partition 0 (C317).

    Args:
        chain: changes or drops it, as Java's heartbeat connector has its transforms do.
    """
    record = own_record(
        topic, heartbeat.key(), heartbeat.value(), heartbeat.timestamp_ms, chain=chain
    )
    if record is None:
        return
    offset = await writer.send(
        record.topic,
        record.key,
        record.value,
        partition=0,
        timestamp_ms=record.timestamp,
        headers=record.headers,
    )
    log.debug("heartbeat.sent", topic=record.topic, downstream_offset=offset)
