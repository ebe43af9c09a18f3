"""How a bundle's work comes to count: at least once, or exactly once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flows.source.commit.position_commits import (
    BeforeCommit,
    Committer,
    Positions,
    PositionsTopic,
    Settled,
)
from flows.source.commit.transactional_commits import Transactions
from flows.source.connections import Connections
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer
from flows.source.send.transaction_gate import TransactionGate
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.transactional_producer import TransactionalProducer
from mm2.protocol.bundle_spec import BundleSpec


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
    What commits for one task.

    Args:
        spec: the bundle.
        connections: of the task.
        gate: of the producer; None at least once.
        producer: the task's.
        partitions: of the task; may change at any time.
        on_settled: is told of batches that count.
        before_commit: is waited for before positions are written that follow the batches.
        now_ms: the clock.
    """
    topic = _positions_topic(spec, connections, producer, now_ms)
    if gate is None or spec.exactly_once is None:
        return Positions(
            topic,
            producer,
            partitions,
            flow=str(spec.flow),
            interval_s=spec.flush_interval_s,
            on_settled=on_settled,
            before_commit=before_commit,
        )
    return Transactions(
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
