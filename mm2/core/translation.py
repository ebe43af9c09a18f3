"""
Offsets of the source as offsets of the copy, and back: exactly where runs tell, else as Java does.

Exact runs reach as far back as they are kept. Before that, behind their end, and where they have a
hole, the 64 offset syncs of Java's algorithm say at least which offset is safe (``OffsetSyncStore``
and behaviours section 8).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from mm2.core.codec import OffsetSync
from mm2.core.model import TopicName, TopicPartition
from mm2.core.offset_sync_store import OffsetSyncStore
from mm2.core.partition_runs import MOST_RUNS, PartitionRuns
from mm2.core.run_codec import decode_key, decode_value
from mm2.core.runs import Logs, Translated

__all__ = ["OffsetTranslation", "RunStore", "Translated"]


class RunStore:
    """
    The runs of one flow, as read from their topic in its order.

    Args:
        most: runs of a partition that are kept exactly.
    """

    def __init__(self, most: int = MOST_RUNS) -> None:
        self._most = most
        self._partitions: dict[TopicPartition, PartitionRuns] = {}
        self._is_read = False

    @property
    def is_read(self) -> bool:
        """Whether the topic was read up to its end, or is not there."""
        return self._is_read

    @property
    def partitions(self) -> Mapping[TopicPartition, PartitionRuns]:
        """All partitions that have runs."""
        return self._partitions

    def backlog_read(self) -> None:
        """Notes that the topic has been read up to its end at the start: translations begin."""
        self._is_read = True

    def handle(self, key: bytes | None, value: bytes | None) -> None:
        """
        Takes in the next record of the topic.

        Raises:
            SchemaError: it is no block of runs, or one of a later version.
        """
        partition, start = decode_key(key)
        runs = self._partitions.setdefault(partition, PartitionRuns(self._most))
        if value is None:
            runs.remove(start)
        else:
            runs.add(decode_value(start, value))

    def of(self, partition: TopicPartition) -> PartitionRuns | None:
        """The runs of a partition; None if there are none."""
        return self._partitions.get(partition)


class OffsetTranslation:
    """
    Translates the offsets of one flow.

    All of it is shared with those who keep it current.

    Args:
        syncs: Java's offset syncs.
        runs: exact runs; None where only Java's syncs are read.
        live: ids that topics of the source and their copies have now, by the former's names. What
            was written down of others of these names is not believed.
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

    def translate(self, partition: TopicPartition, upstream_offset: int) -> int | None:
        """Returns what ``explain`` finds without saying whether it is exact."""
        found = self.explain(partition, upstream_offset)
        return None if found is None else found.offset

    def explain(self, partition: TopicPartition, upstream: int) -> Translated | None:
        """
        Says where a reader goes on that would read ``upstream`` next.

        Returns:
            None if nothing is known of the partition, or the backlog is not read; the offset
            ``TOO_OLD`` (-1) if it lies before all that is known.
        """
        if not self._is_read or self.is_of_former(partition):
            return None
        runs = self._trusted(partition)
        if runs is None and (current := self._current(partition)) is not None:
            return _at_least(current.translate(upstream))
        found = None if runs is None else runs.translate(upstream)
        return _better(found, self._syncs.translate(partition, upstream))

    def reverse(self, partition: TopicPartition, downstream: int) -> Translated | None:
        """
        Says where a reader of the copy goes on in the source's log.

        Java has no such thing, but its syncs tell at least which offset is safe. The answers are
        like those of ``explain``.

        Args:
            partition: the source's.
            downstream: offset in the remote log of the next record to read.
        """
        if not self._is_read or self.is_of_former(partition):
            return None
        runs = self._trusted(partition)
        if runs is None and (current := self._current(partition)) is not None:
            return _at_least(current.reverse(downstream))
        found = None if runs is None else runs.reverse(downstream)
        return _better(found, self._syncs.reverse(partition, downstream))

    def speaks_of(self, partition: TopicPartition, logs: Logs) -> bool:
        """Whether no run is certainly one of other topics than these."""
        runs = None if self._runs is None else self._runs.of(partition)
        return runs is None or not runs.logs.are_others(logs)

    def is_of_former(self, partition: TopicPartition) -> bool:
        """
        Whether all that is known is about topics that are gone, others having their names now.

        Syncs know of no ids; those that agree with runs about a former topic are about that, too.
        """
        live = self._live.get(partition.topic)
        if live is None or self._runs is None or self.speaks_of(partition, live):
            return False
        runs = self._runs.of(partition)
        return runs is not None and _agree(runs, self._syncs.slots(partition))

    def former(self) -> set[TopicPartition]:
        """The partitions of which only former topics are known."""
        known = () if self._runs is None else self._runs.partitions
        return {partition for partition in known if self.is_of_former(partition)}

    @property
    def topics(self) -> frozenset[TopicName]:
        """The topics of the source that runs are known of."""
        known = {} if self._runs is None else self._runs.partitions
        return frozenset(partition.topic for partition in known)

    def exact_since(self, partition: TopicPartition) -> int | None:
        """The source offset from which on translations are exact; None: they are approximate."""
        if self.is_of_former(partition):
            return None
        runs = self._trusted(partition)
        return None if runs is None else runs.exact_since

    @property
    def _is_read(self) -> bool:
        return self._runs is None or self._runs.is_read

    def _trusted(self, partition: TopicPartition) -> PartitionRuns | None:
        """
        The runs of a partition, unless a sync contradicts them.

        Then somebody who writes no runs has mirrored meanwhile, as Java's MirrorMaker does, and
        into another log maybe.
        """
        runs = None if self._runs is None else self._runs.of(partition)
        if runs is None or not _agree(runs, self._syncs.slots(partition)):
            return None  # Also of a former topic, of which others' syncs are not.
        return runs

    def _current(self, partition: TopicPartition) -> PartitionRuns | None:
        """
        The runs of a partition, if they certainly are about the topics that there are.

        Where syncs contradict these, they may be about former ones. The copies that runs tell of
        are there, whoever has copied meanwhile.
        """
        runs = None if self._runs is None else self._runs.of(partition)
        live = self._live.get(partition.topic)
        is_certain = runs is not None and runs.is_of_known_logs and None not in runs.logs
        return runs if is_certain and runs is not None and runs.logs == live else None


def _agree(runs: PartitionRuns, syncs: Iterable[OffsetSync]) -> bool:
    """
    Whether syncs, the newest first, put no record where runs do not have it, or before their end.

    Which records of a known log were copied twice older syncs need not know.
    """
    seen = None
    for sync in syncs:
        if sync.upstream_offset == seen:
            continue  # The newer one counts.
        seen = sync.upstream_offset
        found = runs.translate(seen)
        if found is None or (not found.exact and found.offset <= sync.downstream_offset):
            continue
        if found.offset != sync.downstream_offset:
            return False
        if runs.is_of_known_logs:
            return True
    return True


def _at_least(found: Translated | None) -> Translated | None:
    return None if found is None else Translated(found.offset, exact=False)


def _better(found: Translated | None, bound: int | None) -> Translated | None:
    """What runs say, unless that is approximate and the syncs know a later offset to be safe."""
    if bound is None or (found is not None and (found.exact or bound <= found.offset)):
        return found
    return Translated(bound, exact=False)
