"""
What a bundle of partitions needs to know to run anywhere.

A bundle is one long-lived task of the source flow. The specification travels with the task; which
partitions the bundle owns comes through the control topic, so that it can change while it runs,
and where it continues comes from the positions topic: a task that starts again finds the truth
there, not in its plan.

It holds the user's settings as they were read, but never all keys of a connector or worker: Spark
carries it, so no secret is in it that its own clients do not need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mm2.config.connector_settings import (
    UNCHANGED,
    ErrorSettings,
    GapSettings,
    TransformSettings,
)
from mm2.config.record_clients import DataSettings
from mm2.core.hide_secrets import Secret
from mm2.core.model import SOURCE_CONNECTOR, GroupId, SourceAndTarget, TopicPartition
from mm2.core.positions.exactly_once import Boundary
from mm2.core.positions.start_rules import Start, StartRule, parse_reset, start_of
from mm2.core.topics.own_topics import OwnTopics
from mm2.kafka.client_settings import metadata_age_s
from mm2.kafka.wire.compression import MOST_PLAIN, Compression, compression_of


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetSyncSpec:
    """
    Where and how often a bundle publishes offset syncs.

    Attributes:
        cluster: alias of the cluster that holds the topic.
        properties: Java client keys of the producer.
        topic: ``mm2-offset-syncs.<other cluster>.internal``.
        lag_max: ``offset.lag.max``, in records.
        runs_topic: ``mm2-offset-runs.<other cluster>.internal``, written by the same producer; None
            when ``emit.offset-runs.enabled=false``.
    """

    cluster: str
    properties: Mapping[str, str]
    topic: str
    lag_max: int
    runs_topic: str | None = None


BOUNDARY: Final = Boundary(most_s=0.25, most_bytes=64 << 20, ends_when_drained=True)
"""Readers of the target see nothing of a transaction before its end, so it is short."""


UNUSED_TIMEOUT_MS: Final = 10_000
"""Where no transaction follows: no target has a ``transaction.max.timeout.ms`` below that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactlyOnceSpec:
    """
    How a bundle writes in transactions.

    Attributes:
        group: whose offsets on the target are positions, too.
        timeout_ms: ``transaction.timeout.ms``, after which the target aborts a transaction.
        refresh_s: how often the group's offsets of idle partitions are committed anew.
    """

    group: GroupId
    timeout_ms: int = 60_000
    boundary: Boundary = BOUNDARY
    refresh_s: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleSpec:
    """
    One bundle.

    Attributes:
        index: number of the bundle in its flow, from 0.
        epoch: of the flow's leader that started it; a higher one in the control topic ends it.
        source: Java client keys of the source consumer.
        target: Java client keys of the target producer.
        connector: whose positions they are in Connect's records.
        transactional_id: gives the producer id that fences an earlier task of this bundle.
        offsets_topic: Connect's records of positions, on the target.
        control_topic: leases and assignments, on the target.
        progress_topic: what tasks report, on the target.
        byte_rate_limit: bytes per second of the whole flow, shared by its bundles; negative: none.
        flush_interval_s: how often positions are committed, in seconds.
        drain_within_s: how long a task may take to drain when it stops, in seconds
            (``task.shutdown.graceful.timeout.ms``).
        starts: where single topics and partitions begin (``source.start.offsets``).
        most_plain: bytes that one batch may have when it is decompressed.
        monitor_interval_s: how often topic ids, leaders and log ends are read, in seconds; less
            often with thousands of partitions.
        offset_syncs: None when ``emit.offset-syncs.enabled=false``.
        own_topics: to which transforms may send no records.
        exactly_once: None mirrors at least once.
        generation: of the last assignment that its leader has written for it; older ones that still
            come do not count.
        hidden: secrets in here that config providers have read.
        unsure: remote partitions that an earlier task of the bundle may still write to; it has not
            said that it has ended.
        copies_events: whether its log events go to the progress topic, as the driver does not see
            its standard error.
        log_levels: that operators have chosen on the leader's node, by logger.
    """

    flow: SourceAndTarget
    index: int
    epoch: int
    source: Mapping[str, str]
    target: Mapping[str, str]
    transactional_id: str
    offsets_topic: str
    control_topic: str
    progress_topic: str
    data: DataSettings
    gaps: GapSettings
    errors: ErrorSettings
    transforms: TransformSettings = UNCHANGED
    own_topics: OwnTopics = field(default_factory=OwnTopics)
    connector: str = SOURCE_CONNECTOR
    byte_rate_limit: int = -1
    flush_interval_s: float = 1.0
    drain_within_s: float = 8.0
    starts: tuple[StartRule, ...] = ()
    most_plain: int = MOST_PLAIN
    monitor_interval_s: float = 5.0
    offset_syncs: OffsetSyncSpec | None = None
    exactly_once: ExactlyOnceSpec | None = None
    generation: int = 0
    hidden: tuple[Secret, ...] = ()
    unsure: tuple[TopicPartition, ...] = ()
    copies_events: bool = False
    log_levels: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Names the bundle in logs and job groups: ``A->B/0``, or with its connector's name."""
        if self.connector == SOURCE_CONNECTOR:
            return f"{self.flow}/{self.index}"
        return f"{self.flow}/{self.connector}/{self.index}"

    @property
    def rack(self) -> str:
        """Where the task runs, for brokers that know of a nearer replica."""
        return self.source.get("client.rack", "").strip()

    @property
    def replica_lease_s(self) -> float:
        """Seconds until the leader is asked again for a better replica."""
        return metadata_age_s(self.source)

    @property
    def compression(self) -> Compression | None:
        """The codec that the user asks for; None keeps each batch's."""
        return compression_of(self.data.codec, self.data.level)

    @property
    def merge_bytes(self) -> int:
        """Most bytes of batches that are made into one."""
        return min(self.data.batch_size, self.data.max_request_size)

    def start(self, where: TopicPartition) -> Start:
        """Where a partition without a position begins."""
        return start_of(where, self.starts, parse_reset(self.data.reset))
