"""
The heartbeat flow: says at an interval, in the target's ``heartbeats`` topic, that a flow lives.

Java: ``MirrorHeartbeatConnector`` and its task (behaviours section 10). The flow back mirrors the
topic, so that both clusters, and those behind them, see who mirrors whom.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

import structlog

from flows.heartbeat.heartbeat_reporter import HeartbeatReport
from mm2.config.clients import data_producer_properties
from mm2.config.flow_config import FlowConfig
from mm2.core.mirror_records import Heartbeat
from mm2.core.model import HEARTBEAT_CONNECTOR, TopicName
from mm2.core.policy import build_policy
from mm2.errors import ClusterError
from mm2.kafka.flow_clusters import FlowClusters
from mm2.kafka.writer import Writer

log = structlog.get_logger()

_PAUSE_S: Final = 1.0
"""Least wait after a failure, whatever the interval is."""


async def run_heartbeats(config: FlowConfig, clusters: FlowClusters) -> None:
    """
    Writes a heartbeat after each interval until cancelled; ends at once when they are off (C310).

    Whether the flow itself is enabled makes no difference (C311). A heartbeat that cannot be
    written is given up, for the next one says more. With some goes a report of what the heartbeats
    say that come in.

    Args:
        config: the flow.
        clusters: both; the herder has made the topics (C312).

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
    report = HeartbeatReport(config.flow, policy, clusters.target, progress, _now_ms)
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
    async with Writer(config.flow.target, producer.properties) as writer:
        while True:
            await asyncio.sleep(interval_s)
            heartbeat = Heartbeat(config.flow.source, config.flow.target, _now_ms())
            try:
                await send(writer, topic, heartbeat)
            except ClusterError as error:
                if not error.retriable:
                    raise
                log.warning("heartbeat.not_sent", error=str(error))
                await asyncio.sleep(_PAUSE_S)
            else:
                await report.after(heartbeat.timestamp_ms, writer)


async def send(writer: Writer, topic: str, heartbeat: Heartbeat) -> None:
    """Writes one heartbeat, stamped with its own time, to partition 0 (C317)."""
    offset = await writer.send(
        topic,
        heartbeat.key(),
        heartbeat.value(),
        partition=0,
        timestamp_ms=heartbeat.timestamp_ms,
    )
    log.debug("heartbeat.sent", topic=topic, downstream_offset=offset)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
