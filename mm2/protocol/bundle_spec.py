"""
What a bundle of partitions needs to know to run anywhere.

A bundle is one long-lived task of the source flow. The specification travels with the task; which
partitions the bundle owns comes through the control topic, so that it can change while it runs,
and where it continues comes from the positions topic: a task that starts again finds the truth
there, not in its plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mm2.core.hide_secrets import Secret
from mm2.core.model import SOURCE_CONNECTOR, GroupId, SourceAndTarget, TopicPartition
from mm2.core.positions.exactly_once import Boundary
from mm2.core.positions.start_rules import Start, StartRule, parse_reset, start_of
from mm2.kafka.wire.compression import MOST_PLAIN, Compression


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSpec:
    """
    How a bundle reads its source.

    Attributes:
        max_bytes: of one answer (``fetch.max.bytes``).
        max_partition_bytes: of one partition in it (``max.partition.fetch.bytes``).
        min_bytes: the broker answers as soon as it has this much (``fetch.min.bytes``).
        max_wait_ms: or after this time (``fetch.max.wait.ms``).
        read_committed: leave out records of aborted transactions (``isolation.level``).
        rack: where we stand, for brokers that know of a nearer replica (``client.rack``).
        replica_lease_s: seconds until the leader is asked again for a better one
            (``metadata.max.age.ms``).
        reset: where to begin without a position (``auto.offset.reset``): ``earliest``, ``latest``,
            ``none`` or ``by_duration:...``.
        starts: where single topics and partitions begin (``source.start.offsets``).
    """

    max_bytes: int = 16 << 20
    max_partition_bytes: int = 4 << 20
    min_bytes: int = 1
    max_wait_ms: int = 500
    read_committed: bool = False
    rack: str = ""
    replica_lease_s: float = 300.0
    reset: str = "earliest"
    starts: tuple[StartRule, ...] = ()

    def start(self, where: TopicPartition) -> Start:
        """Where a partition without a position begins."""
        return start_of(where, self.starts, parse_reset(self.reset))


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
        boundary: when transactions end.
        refresh_s: how often the group's offsets of idle partitions are committed anew.
    """

    group: GroupId
    timeout_ms: int = 60_000
    boundary: Boundary = BOUNDARY
    refresh_s: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GapSpec:
    """
    What a bundle does when data are missing.

    Attributes:
        fails: whether a partition stops at a gap of the source (``source.gap.policy=fail``); else
            the gap is reported and mirroring goes on behind it.
        remote_fails: whether a partition stops when its remote topic was deleted, or has lost
            copies (``target.topic.deleted.policy=fail``); else it is created and filled again.
        hanging_after_s: a transaction that is open for longer is reported, in seconds
            (``source.hanging.transaction.timeout.ms``).
        look_every_s: how often topic ids, leaders and log ends are read, in seconds; less
            often with thousands of partitions.
    """

    fails: bool = False
    remote_fails: bool = False
    hanging_after_s: float = 900.0
    look_every_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSpec:
    """
    What becomes of records that cannot be mirrored.

    Attributes:
        tolerates: whether they are skipped (``errors.tolerance=all``).
        dead_letter_topic: where they go, on the target; None writes them to the log.
        context_headers: whether Connect's headers are added there.
        logs: whether each is logged in any case.
        logs_messages: whether key and value are logged with it.
        retry_timeout_s: how long a refused record is sent again before it is skipped.
        retry_delay_s: after which a stopped partition tries again.
    """

    tolerates: bool = False
    dead_letter_topic: str | None = None
    context_headers: bool = False
    logs: bool = False
    logs_messages: bool = False
    retry_timeout_s: float = 0.0
    retry_delay_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleSpec:
    """
    One bundle.

    Attributes:
        flow: the clusters it copies from and to.
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
        buffer_memory: bytes that may wait between fetch and acknowledgement.
        max_request_size: bytes of one Produce request.
        merge_bytes: most bytes of batches that are made into one.
        most_plain: bytes that one batch may have when it is decompressed.
        compression: what the user asks for; None keeps each batch's codec.
        fetch: how the source is read.
        gaps: what is done when data are missing.
        offset_syncs: None when ``emit.offset-syncs.enabled=false``.
        errors: what becomes of records that cannot be mirrored.
        exactly_once: None mirrors at least once.
        generation: of the last assignment that its leader has written for it; older ones that still
            come do not count.
        hidden: secrets in here that config providers have read.
        unsure: remote partitions that an earlier task of the bundle may still write to; it has not
            said that it has ended.
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
    connector: str = SOURCE_CONNECTOR
    byte_rate_limit: int = -1
    flush_interval_s: float = 1.0
    drain_within_s: float = 8.0
    buffer_memory: int = 64 << 20
    max_request_size: int = 4 << 20
    merge_bytes: int = 512 << 10
    most_plain: int = MOST_PLAIN
    compression: Compression | None = None
    fetch: FetchSpec = field(default_factory=FetchSpec)
    gaps: GapSpec = field(default_factory=GapSpec)
    offset_syncs: OffsetSyncSpec | None = None
    errors: ErrorSpec = field(default_factory=ErrorSpec)
    exactly_once: ExactlyOnceSpec | None = None
    generation: int = 0
    hidden: tuple[Secret, ...] = ()
    unsure: tuple[TopicPartition, ...] = ()

    @property
    def name(self) -> str:
        """Names the bundle in logs and job groups: ``A->B/0``, or with its connector's name."""
        if self.connector == SOURCE_CONNECTOR:
            return f"{self.flow}/{self.index}"
        return f"{self.flow}/{self.connector}/{self.index}"
