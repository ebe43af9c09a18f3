"""Creates the parts of a stream, and connects them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flows.legacy.copies_under_way import CopiesUnderWay
from flows.legacy.handled_copies import HandledCopies, PartitionsOf
from flows.legacy.keyed_copies import KeyedCopies
from flows.legacy.named_topics import NamedTopics
from flows.legacy.offset_stores import BothStores, CountedStore, OffsetStore
from flows.legacy.owned_partitions import OwnedPartitions
from flows.legacy.rebalance_listener import ListenerCalls
from flows.legacy.record_copier import CopyChunk, RecordCopier
from flows.legacy.stream_offsets import StreamOffsets
from flows.legacy.stream_spec import StreamSpec
from flows.legacy.target_topics import TargetTopics
from flows.legacy.user_classes import created
from flows.source.fetch.fetcher import Fetcher
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.fetch.position_check import PositionValidator
from flows.source.fetch.rate_limit import RateLimit
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.forward.forwarder import BatchForwarder
from flows.source.forward.merge_batches import MergePolicy
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.gap_reports import log_gap
from flows.source.send.producer import REQUEST_TIMEOUT_MS, Producer
from flows.source.transform.message_handler import load_handler
from mm2.clock import now_ms
from mm2.config.legacy import flags
from mm2.core.model import TopicPartition
from mm2.core.positions.source_gaps import Gap, GapKind
from mm2.errors import FlowError
from mm2.kafka.admin import Admin
from mm2.kafka.client_settings import milliseconds
from mm2.kafka.groups.client_watch import ClientWatch
from mm2.kafka.groups.consumer import GroupConsumer
from mm2.kafka.librdkafka_settings import session_ms
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.stream_progress import StreamPartition


class NotCopied(FlowError):
    """A record cannot be sent, or a partition not be read; by default the tool ends then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamClients:
    """
    The connections of a stream.

    Attributes:
        zookeeper: keeps offsets beside Kafka, or in its place.
    """

    source: WireClient
    target: WireClient
    identity: ProducerIdentity
    source_admin: Admin
    target_admin: Admin
    zookeeper: OffsetStore | None = None


class LoggedGaps:
    """Gaps of the source are logged, and copying goes on as ``auto.offset.reset`` says."""

    def found(self, partition: MirroredPartition, gap: Gap) -> bool:
        """Logs a gap; copying goes on behind it, unless the partition has stopped."""
        log_gap(partition, gap, fails=partition.error is not None)
        return True

    def closed(self, partition: MirroredPartition, kind: GapKind) -> None:
        """Nothing: nothing is kept open."""


class StreamParts:
    """
    The parts of one stream.

    Attributes:
        partitions: what the stream owns; all parts share it, and ``owned`` changes it.

    Raises:
        ConfigError: the user's handler or listener cannot be created.
    """

    def __init__(self, spec: StreamSpec, clients: StreamClients) -> None:
        self._spec = spec
        self._failed = asyncio.Event()
        self._reason: str | None = None
        letters = spec.errors.dead_letter_topic
        self._tracked = {letters} if letters else set[str]()
        self.partitions: dict[TopicPartition, MirroredPartition] = {}
        self._stores: dict[str, CountedStore] = {}
        self._budget = MemoryBudget(spec.data.buffer_memory)
        policy = MergePolicy(
            compression=spec.compression,
            most_bytes=min(spec.data.batch_size, spec.data.max_request_size),
        )
        self.producer = Producer(
            flow=spec.name,
            client=clients.target,
            identity=clients.identity,
            request_timeout_ms=milliseconds(spec.target, "request.timeout.ms", REQUEST_TIMEOUT_MS),
            max_request_size=spec.data.max_request_size,
            policy=policy,
        )
        self.errors = ErrorPolicy(
            spec.errors,
            task=spec.index,
            producer=self.producer,
            budget=self._budget,
            partitions=self.partitions,
            changed=self._trouble_changed,
        )
        self.topics = TargetTopics(clients.source_admin, clients.target_admin)
        self.copier = self._record_copier(clients) if spec.takes_records_apart else None
        self._build_reader(clients, policy)
        self._build_member(clients)

    def _build_reader(self, clients: StreamClients, policy: MergePolicy) -> None:
        spec = self._spec
        intake = BatchForwarder(
            self.producer,
            self._budget,
            self.errors,
            read_committed=spec.data.read_committed,
            policy=policy,
        )
        self.fetcher = Fetcher(
            client=clients.source,
            partitions=self.partitions,
            spec=spec,
            budget=self._budget,
            validator=PositionValidator(
                client=clients.source,
                spec=spec,
                gaps=LoggedGaps(),
                now_ms=now_ms,
                forget=lambda _: None,
                failed=self._failed.set,
            ),
            limit=RateLimit(time.monotonic),
            on_answer=lambda _: None,
            take=intake.forward if self.copier is None else self.copier.take,
            stop=self.errors.stop,
        )

    def _record_copier(self, clients: StreamClients) -> RecordCopier:
        spec = self._spec
        under_way = CopiesUnderWay(
            tolerates=spec.errors.tolerates,
            producer=self.producer,
            budget=self._budget,
            errors=self.errors,
            fail=self._fail,
            acknowledged=lambda: self.fetcher.acknowledged(),  # noqa: PLW0108 - made below
        )
        return RecordCopier(
            self._chunk_copies(NamedTopics(clients.target, self.topics, self._tracked)),
            data=spec.data,
            under_way=under_way,
            budget=self._budget,
            errors=self.errors,
        )

    def _chunk_copies(self, partitions_of: PartitionsOf) -> CopyChunk:
        spec, path = self._spec, self._spec.handler
        if path is None:
            return KeyedCopies(partitions_of, spec.compression)
        return HandledCopies(
            created(flags.HANDLER, path, lambda: load_handler(path, spec.handler_args)),
            repartitions=spec.repartitions,
            partitions_of=partitions_of,
            compression=spec.compression,
        )

    def _build_member(self, clients: StreamClients) -> None:
        spec = self._spec
        listener = ListenerCalls(spec.listener, spec.listener_args, consumer=spec.name)
        self.member = GroupConsumer(
            clients.source.alias,
            spec.source,
            group=spec.group,
            owner=self,
            watch=ClientWatch(clients.source_admin, patience_s=session_ms(spec.source) / 1000),
        )
        store: OffsetStore = self._counted("kafka", self.member)
        if spec.zookeeper is not None and clients.zookeeper is not None:
            other = self._counted("zookeeper", clients.zookeeper)
            store = other if spec.zookeeper.is_alone else BothStores(store, other)
        self.offsets = StreamOffsets(store, self.partitions, interval_s=spec.commit_interval_s)
        self.owned = OwnedPartitions(
            partitions=self.partitions,
            source=clients.source,
            target=clients.target,
            target_topics=self.topics,
            budget=self._budget,
            producer=self.producer,
            errors=self.errors,
            fetcher=self.fetcher,
            store=store,
            offsets=self.offsets,
            listener=listener,
            wait_for_copies=self.wait_for_copies,
            topics=self._tracked,
            copier=self.copier,
        )

    async def assigned(self, partitions: Sequence[TopicPartition]) -> None:
        """The group gives these."""
        await self.owned.assigned(partitions)

    async def revoked(self, partitions: Sequence[TopicPartition]) -> None:
        """The group takes these."""
        await self.owned.revoked(partitions)

    async def lost(self, partitions: Sequence[TopicPartition]) -> None:
        """The group has given these to another member."""
        await self.owned.lost(partitions)

    async def wait_for_copies(self, partitions: Iterable[MirroredPartition]) -> None:
        """Waits until the target has all that was read of some partitions."""
        if self.copier is None:
            await self.producer.flush([each.sender for each in partitions])
        else:
            await self.copier.wait_for_copies(partitions)

    async def until_failed(self) -> None:
        """
        Waits until a partition stops that is not to stop.

        Raises:
            NotCopied: always; the message says why.
        """
        while True:
            await self._failed.wait()
            self._failed.clear()
            if self._reason is not None:
                raise NotCopied(self._spec.name, self._reason)
            for each in self.partitions.values():
                if each.error is not None and self._is_final(each):
                    raise NotCopied(self._spec.name, f"{each.source}: {each.error}")

    def _is_final(self, partition: MirroredPartition) -> bool:
        return not self._spec.errors.tolerates or partition.retry_at is None

    def _fail(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._failed.set()

    def _trouble_changed(self) -> None:
        self.fetcher.acknowledged()
        self._failed.set()

    def _counted(self, name: str, store: OffsetStore) -> CountedStore:
        return self._stores.setdefault(name, CountedStore(store))

    def commits(self) -> dict[str, int]:
        """How many offsets each store of offsets has taken."""
        return {name: store.commits for name, store in self._stores.items()}

    def progress(self) -> list[StreamPartition]:
        """How far it is with the partitions that it owns."""
        return [
            StreamPartition(
                *each.source,
                each.progress.records,
                each.progress.bytes,
                each.progress.skipped,
                each.progress.dead_letters,
                each.lag,
            )
            for each in self.partitions.values()
        ]

    def totals(self) -> dict[str, int]:
        """What was copied, of partitions that were given up meanwhile too."""
        progress = [each.progress for each in self.partitions.values()]
        return {
            "records": self.owned.records + sum(each.records for each in progress),
            "skipped": self.owned.skipped + sum(each.skipped for each in progress),
        }
