"""
Records of the progress topic, ``mm2-progress.<source>.internal``: what the tasks of a flow report.

Records of a bundle hold only the partitions whose numbers changed, so that every node and the
command line see the same truth without asking the leader. Other keys of the topic are those of the
small flows, see ``heartbeat_progress``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import msgspec

from mm2.core.copy_totals import Counts
from mm2.core.model import NO_OFFSET, TopicName, TopicPartition
from mm2.protocol.codec import decode, encode

_BUNDLE: Final = b"bundle-"
_REMEMBERED: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class GapReport:
    """
    Something missing between the source and its copy.

    Attributes:
        kind: one of ``mm2.core.positions.source_gaps.GapKind``.
        first: first offset of the source that may be missing.
        end: the offset after the last; the same as ``first`` if the range is not known.
        time_ms: when it was found, by the task's clock.
        is_open: whether it goes on, as a transaction that hangs does.
    """

    kind: str
    first: int
    end: int
    time_ms: int
    is_open: bool = False


class PartitionProgress(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """
    How far one partition is.

    No dataclass: it is made of thousands of partitions each second, in a tenth of the time.

    Attributes:
        topic: on the source.
        partition: its number.
        remote: topic on the target.
        records: mirrored since the task started.
        bytes: of batches as produced, since the task started.
        position: upstream offset of the last mirrored record; -1 for none yet.
        end: high watermark of the source when last fetched; -1 if not known yet.
        start: first offset that the source has, when last fetched; -1 if not known yet.
        lag: records between what the source has and what the target has.
        broker: node of the source that it was last read from; None if not yet known.
        latency_ms: the highest age of a record when it was acknowledged, since last time: of the
            oldest record of each batch, Java's ``replication-latency-ms-max``. It counts what the
            record waited in the source, too.
        lost: offsets that were gone from the source before they were mirrored.
        diverged: offsets that were mirrored and that the source no longer has.
        gaps: what was found missing since the task started, the last of each kind.
        skipped: records that were skipped (``errors.tolerance=all``).
        error: why the partition does not go on; None while it does.
        contested: partitions of the positions topic have different positions of it.
        first: source offset of the first record that this task copied; -1 for none yet.
        dead_letters: of ``skipped``, those written to the dead-letter topic.
        pinned_since_ms: since when a transaction holds the last stable offset back, by the task's
            clock; -1 if none does.
        backfill: records before the source's end as it was when the task began that are not
            copied yet.
        age_ms: of records when they were read: last, least, most and mean of the last minute, each
            batch by its oldest record; empty if there was none.
        replication_ms: the same when the target had them.
        live_ms: the same without backfill.
        record_bytes: the same of the sizes of records, the mean of each batch.
        left_out: records of which transforms, or provenance, made no copy.
    """

    topic: str
    partition: int
    remote: str
    records: int = 0
    bytes: int = 0
    position: int = NO_OFFSET
    end: int = NO_OFFSET
    start: int = NO_OFFSET
    lag: int = 0
    broker: int | None = None
    latency_ms: int = 0
    lost: int = 0
    diverged: int = 0
    gaps: tuple[GapReport, ...] = ()
    skipped: int = 0
    error: str | None = None
    contested: bool = False
    first: int = NO_OFFSET
    dead_letters: int = 0
    pinned_since_ms: int = NO_OFFSET
    backfill: int = 0
    age_ms: tuple[int, ...] = ()
    replication_ms: tuple[int, ...] = ()
    live_ms: tuple[int, ...] = ()
    record_bytes: tuple[int, ...] = ()
    left_out: int = 0

    @property
    def counts(self) -> Counts:
        """What the task counted."""
        return Counts(
            records=self.records,
            bytes=self.bytes,
            lost=self.lost,
            diverged=self.diverged,
            skipped=self.skipped,
            dead_letters=self.dead_letters,
            left_out=self.left_out,
        )

    @property
    def source(self) -> TopicPartition:
        """The source partition."""
        return TopicPartition(TopicName(self.topic), self.partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceProgress:
    """
    What holds a task back.

    Attributes:
        byte_rate_limit: its share of the flow's limit in bytes per second; None is no limit.
        source_throttled_ms: how long the source's quotas have held it back since it started.
        target_throttled_ms: how long the target's quotas have.
    """

    byte_rate_limit: float | None = None
    source_throttled_ms: int = 0
    target_throttled_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadProgress:
    """
    What a task has under way.

    Attributes:
        buffer_bytes: between fetch and acknowledgement, at most.
        active_records: fetched and not acknowledged.
        commit_ms: how long commits of positions took: last, least, most and mean of the last
            minute; empty for none.
    """

    buffer_bytes: int = 0
    buffer_free_bytes: int = 0
    active_records: int = 0
    commit_ms: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleProgress:
    """
    What one task reports.

    Attributes:
        bundle: its number in the flow.
        epoch: of the leader that started it.
        generation: the assignment that it carries out.
        time_ms: when, by the task's clock.
        pid: process id of the task's worker, for people.
        partitions: those whose numbers changed.
        pace: what holds it back.
        load: what it has under way.
        is_last: whether the task has drained and committed, and writes nothing more.
        turn_ms: after how long a partition that is active is reported again.
    """

    bundle: int
    epoch: int
    generation: int
    time_ms: int
    pid: int
    partitions: tuple[PartitionProgress, ...]
    pace: PaceProgress = PaceProgress()
    load: LoadProgress = LoadProgress()
    is_last: bool = False
    turn_ms: int = 1_000

    @property
    def run(self) -> str:
        """Names the task that reports."""
        return f"{self.epoch}.{self.bundle}.{self.pid}"


def encode_progress(progress: BundleProgress) -> tuple[bytes, bytes]:
    """Key and value of a progress record."""
    return _BUNDLE + b"%d" % progress.bundle, encode(progress)


def is_of_bundle(key: bytes | None) -> bool:
    """Tells a task's report from the other records of the topic by its key."""
    return key is not None and key.startswith(_BUNDLE)


@lru_cache(maxsize=_REMEMBERED)
def decode_progress(value: bytes | None) -> BundleProgress:
    """
    The report in a progress record; fields that a newer release added are passed over.

    The last reports are cached: a leader reads each one in two places.

    Raises:
        SchemaError: the record is damaged.
    """
    return decode(BundleProgress, value, "progress record")
