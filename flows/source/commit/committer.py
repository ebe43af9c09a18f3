"""Creates a task's committer: at least once, or exactly once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import structlog

from flows.source.commit.position_commits import (
    AtLeastOnceCommitter,
    BeforeCommit,
    Committer,
    Settled,
)
from flows.source.commit.positions_topic import PositionsTopic
from flows.source.commit.transactional_commits import ExactlyOnceCommitter
from flows.source.connections import Connections
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer
from flows.source.send.transaction_gate import TransactionGate
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import ClusterError
from mm2.kafka.wire.transactional_producer import TransactionalProducer
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import BundleSpec

log = structlog.get_logger()

_KEY: Final = "offsets.retention.minutes"
_TIMES: Final = 4
"""Commits within the retention: some may be late, or brokers may be away."""


def make_committer(
    spec: BundleSpec,
    connections: Connections,
    *,
    gate: TransactionGate | None,
    producer: Producer,
    partitions: Mapping[TopicPartition, MirroredPartition],
    on_settled: Settled,
    before_commit: BeforeCommit | None,
    now_ms: Callable[[], int],
) -> Committer:
    """
    Creates the committer of a task.

    ``gate`` is None at least once. ``on_settled`` gets each batch that will not be undone.
    ``before_commit`` is awaited before positions are written that follow batches.
    """
    topic = _positions_topic(spec, connections, producer, now_ms)
    if gate is None or spec.exactly_once is None:
        return AtLeastOnceCommitter(
            topic,
            producer,
            partitions,
            flow=str(spec.flow),
            interval_s=spec.flush_interval_s,
            on_settled=on_settled,
            before_commit=before_commit,
        )
    return ExactlyOnceCommitter(
        spec.exactly_once,
        flow=str(spec.flow),
        gate=gate,
        producer=producer,
        coordinators=TransactionalProducer(
            connections.target,
            flow=str(spec.flow),
            transactional_id=gate.transactional_id,
            identity=connections.identity,
            group=spec.exactly_once.group,
        ),
        topic=topic,
        partitions=partitions,
        on_settled=on_settled,
    )


def _positions_topic(
    spec: BundleSpec,
    connections: Connections,
    producer: Producer,
    now_ms: Callable[[], int],
) -> PositionsTopic:
    return PositionsTopic(
        producer,
        connector=spec.connector,
        source=spec.flow.source,
        topic=TopicName(spec.offsets_topic),
        partitions=lambda: connections.target.partitions_of(spec.offsets_topic),
        now_ms=now_ms,
    )


async def with_refresh(spec: BundleSpec, target: WireClient) -> BundleSpec:
    """
    Returns the bundle with a refresh interval that fits the target's offset retention.

    Any broker is asked, for they should all keep them as long. Without leave to
    describe the settings, a week is assumed.
    """
    exactly_once = spec.exactly_once
    if exactly_once is None:
        return spec
    try:
        minutes = (await target.broker_settings((_KEY,))).get(_KEY)
    except ClusterError as error:
        log.debug("source.retention_unknown", key=_KEY, error=str(error))
        return spec
    if minutes is None:
        return spec
    refresh_s = min(exactly_once.refresh_s, int(minutes) * 60 / _TIMES)
    return replace(spec, exactly_once=replace(exactly_once, refresh_s=refresh_s))
