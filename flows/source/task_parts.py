"""Creates the parts of a source task, and connects them."""

from __future__ import annotations

import time

from flows.source.assigned_partitions import AssignedPartitions
from flows.source.commit.committer import make_committer
from flows.source.commit.transactional_commits import ExactlyOnceCommitter
from flows.source.connections import Connections
from flows.source.control_follower import ControlFollower
from flows.source.fetch.fetcher import Fetcher
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.fetch.rate_limit import RateLimit
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.forward.forwarder import BatchForwarder
from flows.source.forward.merge_batches import MergePolicy
from flows.source.forward.overlap_reader import OverlapReader
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.gap_detection import GapDetection
from flows.source.publish.translation_publisher import TranslationPublisher
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.producer import REQUEST_TIMEOUT_MS, Producer
from flows.source.send.transaction_gate import TransactionGate
from flows.source.task_reporter import TaskReporter
from flows.source.transform.record_stage import RecordStage
from flows.source.transform.target_routes import Routes
from flows.source.transform.topic_transforms import TopicTransforms
from mm2.clock import now_ms
from mm2.core.model import TopicPartition
from mm2.kafka.admin import Admin
from mm2.kafka.client_settings import milliseconds
from mm2.kafka.wire.requests.fetch import FetchedPartition
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.progress_records import LoadProgress, PaceProgress


class TaskParts:
    """
    The parts of one task.

    Attributes:
        partitions: what the task mirrors; all parts share it, and ``assigned`` changes it.
    """

    def __init__(
        self, spec: BundleSpec, control: ControlFollower, connections: Connections
    ) -> None:
        self._spec = spec
        self.lease, limit = control.lease, control.limit
        self.partitions: dict[TopicPartition, MirroredPartition] = {}
        source, target = connections.source, connections.target
        self.translation = TranslationPublisher(
            spec,
            connections.syncs_writer,
            self.partitions,
            source=source,
            target=target,
            producer_epoch=connections.identity.epoch,
        )
        self.reporter = TaskReporter(
            spec,
            self.partitions,
            connections.writer,
            now_ms,
            pace=lambda: PaceProgress(
                byte_rate_limit=limit.rate,
                source_throttled_ms=source.throttle.total_ms,
                target_throttled_ms=target.throttle.total_ms,
            ),
            load=self._load,
            tasks=lambda: control.tasks,
        )
        policy = MergePolicy(
            compression=spec.compression,
            most_bytes=spec.merge_bytes,
            most_plain=spec.most_plain,
        )
        self._build_writers(connections, policy)
        control.pace(self.committer.keep_pace)
        self._build_readers(connections, policy, limit)

    def _build_writers(self, connections: Connections, policy: MergePolicy) -> None:
        spec = self._spec
        gate = None if spec.exactly_once is None else TransactionGate(spec.transactional_id)
        self._budget = MemoryBudget(spec.data.buffer_memory)
        self.producer = Producer(
            flow=str(spec.flow),
            client=connections.target,
            identity=connections.identity,
            request_timeout_ms=milliseconds(spec.target, "request.timeout.ms", REQUEST_TIMEOUT_MS),
            max_request_size=spec.data.max_request_size,
            gate=gate,
            policy=policy,
            may_send=lambda: self.lease.is_valid,
        )
        self.lease.on_resumed = self.producer.wake
        self.error_policy = ErrorPolicy(
            spec.errors,
            task=spec.index,
            most_plain=spec.most_plain,
            producer=self.producer,
            budget=self._budget,
            partitions=self.partitions,
            changed=self._trouble_changed,
        )
        self.committer = make_committer(
            spec,
            connections,
            gate=gate,
            producer=self.producer,
            partitions=self.partitions,
            on_settled=self._settled,
            before_commit=self.translation.publish_before_commit,
            now_ms=now_ms,
        )

    def _build_readers(
        self, connections: Connections, policy: MergePolicy, limit: RateLimit
    ) -> None:
        spec, source, target = self._spec, connections.source, connections.target
        self._forwarder = BatchForwarder(
            self.producer,
            self._budget,
            self.error_policy,
            read_committed=spec.data.read_committed,
            policy=policy,
        )
        routes = Routes(
            source=source,
            target=target,
            admin=Admin(spec.flow.target, spec.target),
            replication_factor=spec.transforms.replication_factor,
            own_topics=spec.own_topics,
        )
        self.record_stage = RecordStage(
            self.producer,
            self._budget,
            self.error_policy,
            self.partitions,
            read_committed=spec.data.read_committed,
            policy=policy,
            freed=self._freed,
            routes=routes,
            commits=self.committer if isinstance(self.committer, ExactlyOnceCommitter) else None,
        )
        self.gap_detection = GapDetection(
            spec,
            self.partitions,
            source=source,
            target=target,
            producer=self.producer,
            writer=connections.writer,
            translation=self.translation,
            committer=self.committer,
            now_ms=now_ms,
            changed=lambda: self.fetcher.changed(),  # noqa: PLW0108 - made below
            report=self.reporter.wake,
        )
        self.fetcher = Fetcher(
            client=source,
            partitions=self.partitions,
            spec=spec,
            budget=self._budget,
            validator=self.gap_detection.validator,
            limit=limit,
            on_answer=self.reporter.touched,
            take=self._take,
            stop=self.error_policy.stop,
        )
        self._build_assignment(source, target, routes)

    def _build_assignment(self, source: WireClient, target: WireClient, routes: Routes) -> None:
        self.overlaps = OverlapReader(target, self.partitions, self._supplied)
        self.assigned = AssignedPartitions(
            spec=self._spec,
            partitions=self.partitions,
            source=source,
            target=target,
            budget=self._budget,
            producer=self.producer,
            committer=self.committer,
            fetcher=self.fetcher,
            overlaps=self.overlaps,
            monitor=self.gap_detection.monitor,
            reporter=self.reporter,
            translation=self.translation,
            error_policy=self.error_policy,
            transforms=TopicTransforms(
                self._spec.flow, self._spec.transforms, source.cluster_id, target.cluster_id
            ),
            routes=routes,
        )

    def _take(self, partition: MirroredPartition, fetched: FetchedPartition) -> None:
        if partition.transform is None:
            self._forwarder.forward(partition, fetched)
        else:
            self.record_stage.take(partition, fetched)

    def _freed(self, partition: MirroredPartition) -> None:
        """Something of a partition was transformed, or has arrived elsewhere than in its copy."""
        self.fetcher.acknowledged()
        self.reporter.touched(partition)

    def _supplied(self) -> None:
        """More is known of what the target has."""
        self.fetcher.acknowledged()
        self.record_stage.supplied()

    def _load(self) -> LoadProgress:
        under_way = (p.sender for p in self.partitions.values() if p.progress.queued)
        return LoadProgress(
            buffer_bytes=self._budget.limit,
            buffer_free_bytes=max(0, self._budget.limit - self._budget.used),
            active_records=sum(sender.active_records for sender in under_way),
            commit_ms=self.committer.times.sample(round(1000 * time.monotonic())),
        )

    def _settled(self, partition: MirroredPartition, batch: OutgoingBatch) -> None:
        """Counts a batch that the target has for good, and publishes where it is."""
        runs = batch.runs()
        partition.acknowledge(batch, now_ms(), runs)
        self.reporter.touched(partition)
        self.translation.settled(partition, runs)
        if partition.remote.cut_at is not None:
            self.gap_detection.monitor.wake()

    def _trouble_changed(self) -> None:
        self.fetcher.acknowledged()
        self.reporter.wake()
