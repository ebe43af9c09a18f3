"""
Offsets of the source as offsets of the copy, and back: exact where runs are known, else as in Java.

Exact runs reach as far back as they are kept. Before that, behind their end, and where they have a
hole, the 64 offset syncs of Java's algorithm give at least a safe offset (``OffsetSyncStore``
and behaviours section 8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from mm2.core.internal_records import OffsetSync
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.core.translation.partition_runs import MOST_RUNS, PartitionRuns
from mm2.core.translation.run_codec import decode_key, decode_value
from mm2.core.translation.runs import UNKNOWN_LOGS, Logs, MappedOffset, Passed

__all__ = ["MappedOffset", "OffsetTranslation", "RunStore"]


class RunStore:
    """
    The runs of one flow, as read from their topic in its order.

    Args:
        most: runs of a partition that are kept exactly.
    """

    def __init__(self, most: int = MOST_RUNS) -> None:
        self._most = most
        self._partitions: dict[TopicPartition, PartitionRuns] = {}
        self._topics: set[TopicName] = set()
        self._is_read = False

    @property
    def is_read(self) -> bool:
        """Whether the topic was read up to its end, or is not there."""
        return self._is_read

    @property
    def partitions(self) -> Mapping[TopicPartition, PartitionRuns]:
        """All partitions that have runs."""
        return self._partitions

    @property
    def topics(self) -> frozenset[TopicName]:
        """The topics of these partitions."""
        return frozenset(self._topics)

    def backlog_read(self) -> None:
        """Notes that the topic has been read up to its end at the start: translations begin."""
        self._is_read = True

    def handle(self, key: bytes | None, value: bytes | None) -> None:
        """
        Takes in the next record of the topic.

        Raises:
            SchemaError: it is no block of runs, or one of a later version.
        """
        partition, name = decode_key(key)
        runs = self._partitions.setdefault(partition, PartitionRuns(self._most))
        self._topics.add(partition.topic)
        if value is None:
            runs.remove(name)
        else:
            runs.add(decode_value(name, value))

    def of(self, partition: TopicPartition) -> PartitionRuns | None:
        """The runs of a partition; None if there are none."""
        return self._partitions.get(partition)


class _Evidence(NamedTuple):
    """
    What the runs of a partition are worth, for as long as nothing new is known of it.

    Attributes:
        is_of_former: whether all that is known is about topics that are gone.
        trusted: the runs; None if syncs contradict them.
        verified: the runs, if they are about the topics that there are now, even if syncs
            contradict them.
    """

    sync: OffsetSync | None = None
    version: int = 0
    live: Logs | None = None
    is_of_former: bool = False
    trusted: PartitionRuns | None = None
    verified: PartitionRuns | None = None


_NO_RUNS: Final = _Evidence()


class OffsetTranslation:
    """
    Translates the offsets of one flow.

    All of it is shared with those who keep it current.

    Args:
        runs: exact runs; None where only Java's syncs are read.
        live: ids that topics of the source and their copies have now, by the former's names. What
            was written down of others of these names is not used.
    """

    def __init__(
        self,
        syncs: OffsetSyncStore,
        runs: RunStore | None = None,
        live: Mapping[TopicName, Logs] = MappingProxyType({}),
    ) -> None:
        self._syncs = syncs
        self._runs = runs
        self._live = live
        self._evidence: dict[TopicPartition, _Evidence] = {}

    def translate(self, partition: TopicPartition, upstream_offset: int) -> int | None:
        """Returns what ``explain`` finds without whether it is exact."""
        found = self.explain(partition, upstream_offset)
        return None if found is None else found.offset

    def explain(self, partition: TopicPartition, upstream: int) -> MappedOffset | None:
        """
        Where a reader goes on that would read ``upstream`` next.

        Returns:
            None if nothing is known of the partition, or the backlog is not read; the offset
            ``TOO_OLD`` (-1) if it lies before all that is known.
        """
        return self._answer(partition, upstream, PartitionRuns.translate, self._syncs.translate)

    def reverse(self, partition: TopicPartition, downstream: int) -> MappedOffset | None:
        """
        Where a reader of the copy goes on in the source's log.

        Java has no such thing, but its syncs give at least a safe offset. The answers are
        like those of ``explain``.

        Args:
            downstream: offset in the remote log of the next record to read.
        """
        return self._answer(partition, downstream, PartitionRuns.reverse, self._syncs.reverse)

    def passed(self, partition: TopicPartition, downstream: int) -> Passed | None:
        """How far the source is copied, if by the runs all copies lie before a remote offset."""
        runs = self._trusted(partition)
        return None if runs is None else runs.passed(downstream)

    def told_to(self, partition: TopicPartition) -> int | None:
        """The source offset behind the last one that runs tell of; None if they tell of none."""
        runs = self._trusted(partition)
        return runs.blocks[-1].end if runs is not None and runs.blocks else None

    def copies_none(self, partition: TopicPartition, upstream: int, log: tuple[int, int]) -> bool:
        """Whether of the source's log, by its start and end, none is copied from an offset on."""
        runs = self._trusted(partition)
        return runs is not None and runs.copies_none(upstream, *log)

    def _trusted(self, partition: TopicPartition) -> PartitionRuns | None:
        evidence = self._evidence_of(partition)
        return None if not self._is_read or evidence.is_of_former else evidence.trusted

    def logs(self, partition: TopicPartition) -> Logs:
        """The topics that answers are about, as far as that is known."""
        evidence = self._evidence_of(partition)
        runs = evidence.trusted or evidence.verified
        return UNKNOWN_LOGS if runs is None else runs.logs

    def is_about(self, partition: TopicPartition, logs: Logs) -> bool:
        """Whether no run is certainly one of other topics than these."""
        runs = None if self._runs is None else self._runs.of(partition)
        return runs is None or not runs.logs.conflicts_with(logs)

    def is_of_former(self, partition: TopicPartition) -> bool:
        """
        Whether all that is known is about topics that are gone, others having their names now.

        Syncs know of no ids; those that agree with runs about a former topic are about that, too.
        """
        return self._evidence_of(partition).is_of_former

    def former(self) -> set[TopicPartition]:
        """The partitions of which only former topics are known; nearly always none of thousands."""
        known = {} if self._runs is None else self._runs.partitions
        others = [
            partition
            for partition, runs in known.items()
            if (live := self._live.get(partition.topic)) not in (None, runs.logs)
            and live.conflicts_with(runs.logs)
        ]
        return {partition for partition in others if self.is_of_former(partition)}

    @property
    def topics(self) -> frozenset[TopicName]:
        """The topics of the source that runs are known of."""
        return frozenset() if self._runs is None else self._runs.topics

    @property
    def partitions(self) -> int:
        """Of how many partitions runs are known."""
        return len(self._runs.partitions) if self._runs else 0

    def exact_since(self, partition: TopicPartition) -> int | None:
        """The source offset from which on translations are exact; None: they are approximate."""
        evidence = self._evidence_of(partition)
        runs = None if evidence.is_of_former else evidence.trusted
        return None if runs is None else runs.exact_since

    @property
    def _is_read(self) -> bool:
        return self._runs is None or self._runs.is_read

    def _answer(
        self,
        partition: TopicPartition,
        offset: int,
        by_runs: Callable[[PartitionRuns, int], MappedOffset | None],
        by_syncs: Callable[[TopicPartition, int], int | None],
    ) -> MappedOffset | None:
        if not self._is_read or (evidence := self._evidence_of(partition)).is_of_former:
            return None
        if evidence.trusted is None and evidence.verified is not None:
            return _at_least(by_runs(evidence.verified, offset))
        found = None if evidence.trusted is None else by_runs(evidence.trusted, offset)
        if found is not None and found.exact:
            return found
        return _better(found, by_syncs(partition, offset))

    def _evidence_of(self, partition: TopicPartition) -> _Evidence:
        """Thousands of groups ask about the same partitions: what was found out is kept."""
        runs = None if self._runs is None else self._runs.of(partition)
        if runs is None:
            return _NO_RUNS
        sync, live = self._syncs.newest(partition), self._live.get(partition.topic)
        known = self._evidence.get(partition, _NO_RUNS)
        if known.sync is sync and known.version == runs.version and known.live == live:
            return known
        found = self._find_evidence(partition, runs, live)
        self._evidence[partition] = found
        return found

    def _find_evidence(
        self, partition: TopicPartition, runs: PartitionRuns, live: Logs | None
    ) -> _Evidence:
        """
        What the runs of a partition are worth.

        If a sync contradicts them, a mirror that writes no runs has copied meanwhile, as Java's
        MirrorMaker does, and into another log maybe. Then syncs may be about former topics: the
        copies that runs certainly name are there, whoever has copied meanwhile.
        """
        is_trusted = _agree(runs, self._syncs.slots(partition))
        is_others = live is not None and runs.logs.conflicts_with(live)
        is_verified = runs.is_of_known_logs and None not in runs.logs and runs.logs == live
        return _Evidence(
            sync=self._syncs.newest(partition),
            version=runs.version,
            live=live,
            is_of_former=is_trusted and is_others,
            trusted=runs if is_trusted else None,
            verified=runs if is_verified else None,
        )


def _agree(runs: PartitionRuns, syncs: Iterable[OffsetSync]) -> bool:
    """
    Whether syncs, the newest first, put no record where runs do not have it, or before their end.

    Which records of a known log were copied twice older syncs need not know. Syncs may be written
    before runs: then the next record has its copy behind the last marker that runs know of.
    """
    seen = None
    for sync in syncs:
        if sync.upstream_offset == seen:
            continue  # The newer one counts.
        seen = sync.upstream_offset
        found = runs.translate(seen)
        if found is None or (not found.exact and found.offset <= sync.downstream_offset):
            continue
        is_next = found.offset == runs.marker == sync.downstream_offset - 1
        if found.offset != sync.downstream_offset and not is_next:
            return False
        if runs.is_of_known_logs:
            return True
    return True


def _at_least(found: MappedOffset | None) -> MappedOffset | None:
    return None if found is None else MappedOffset(found.offset, exact=False)


def _better(found: MappedOffset | None, bound: int | None) -> MappedOffset | None:
    """The approximate offset of runs, unless by the syncs a later one is safe."""
    if bound is None or (found is not None and bound <= found.offset):
        return found
    return MappedOffset(bound, exact=False)
