"""How a bundle's work comes to count: at least once, or exactly once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flows.source.gate import TransactionGate
from flows.source.partition import Mirrored
from flows.source.positions import BeforeCommit, Committer, Positions, PositionsTopic, Settled
from flows.source.produce import Producer
from flows.source.transactions import Transactions
from mm2.core.model import TopicName, TopicPartition
from mm2.herder.bundle import BundleSpec
from mm2.kafka.wire.client import WireClient
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.transactions import TransactionalProducer


def make_committer(
    spec: BundleSpec,
    *,
    gate: TransactionGate | None,
    producer: Producer,
    target: WireClient,
    identity: ProducerIdentity,
    partitions: Mapping[TopicPartition, Mirrored],
    on_settled: Settled,
    before_commit: BeforeCommit | None,
    now_ms: Callable[[], int],
) -> Committer:
    """
    What commits for one task.

    Args:
        spec: the bundle.
        gate: of the producer; None at least once.
        producer: the task's.
        target: the cluster that it writes to.
        identity: the producer's.
        partitions: of the task; may change at any time.
        on_settled: is told of batches that count.
        before_commit: is waited for before positions are written that follow the batches.
        now_ms: the clock.
    """
    flow = str(spec.flow)
    topic = PositionsTopic(
        producer,
        connector=spec.connector,
        source=spec.flow.source,
        topic=TopicName(spec.offsets_topic),
        partitions=spec.offsets_partitions,
        now_ms=now_ms,
    )
    if gate is None or spec.exactly_once is None:
        return Positions(
            topic,
            producer,
            partitions,
            flow=flow,
            interval_s=spec.flush_interval_s,
            on_settled=on_settled,
            before_commit=before_commit,
        )
    coordinators = TransactionalProducer(
        target,
        flow=flow,
        transactional_id=gate.transactional_id,
        identity=identity,
        group=spec.exactly_once.group,
    )
    return Transactions(
        spec.exactly_once,
        flow=flow,
        gate=gate,
        producer=producer,
        coordinators=coordinators,
        topic=topic,
        partitions=partitions,
        on_settled=on_settled,
    )
