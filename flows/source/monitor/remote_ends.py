"""
Whether remote logs still have all that was copied into them.

The end of one may be cut off by an unclean leader election or with a lost disk. What was lost is
copied again, from where the exact runs show, or from the source's start where they do not reach.
First the place is stored with the position: what is written then makes the log longer again, so
that a task that takes over could not find it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple

from flows.source.commit.position_commits import Committer
from flows.source.forward.overlap_reader import end_without_markers
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.gap_reports import GapReporter
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.core.positions.source_gaps import is_cut_off, remote_truncated
from mm2.core.translation.partition_runs import PartitionRuns
from mm2.kafka.wire.requests.list_offsets import EARLIEST, LATEST
from mm2.kafka.wire.wire_client import WireClient

StoredRuns = Callable[
    [Iterable[MirroredPartition]], Awaitable[Mapping[TopicPartition, PartitionRuns]]
]
"""Reads what is published of the runs of some partitions."""


class _End(NamedTuple):
    """
    Where a remote log ends.

    Attributes:
        known: offset behind the copy of the last record, as it was before the question.
        stable: its last stable offset; the end at least once.
        is_open: whether a transaction is open in it.

    Exactly once, markers at the end of a log that ends no later than the last copy do not count.
    """

    known: int
    end: int
    stable: int
    is_open: bool

    @property
    def place(self) -> int:
        """The first offset that has to be written again."""
        return min(self.end, self.stable)

    def may_be_cut_off(self, *, is_written: bool) -> bool:
        """Whether copies may be lost; the last marker may be late while the task writes."""
        return self.stable < self.known and self.end <= self.known - is_written


class RemoteEnds:
    """
    Checks the ends of remote logs, and copies again what is missing there.

    Args:
        forget: called when a partition goes back to an earlier offset.

    Attributes:
        is_unsure: whether to check again soon: ends of logs are not known, or not confirmed.
    """

    def __init__(
        self,
        *,
        source: WireClient,
        target: WireClient,
        gaps: GapReporter,
        now_ms: Callable[[], int],
        forget: Callable[[TopicPartition], None],
        runs: StoredRuns,
        committer: Committer,
        is_transactional: bool,
    ) -> None:
        self._source = source
        self._target = target
        self._gaps = gaps
        self._now_ms = now_ms
        self._forget = forget
        self._runs = runs
        self._committer = committer
        self._is_transactional = is_transactional
        self._suspects: set[MirroredPartition] = set()
        self._records_end: dict[MirroredPartition, tuple[int, int]] = {}
        self.is_unsure = False

    async def check(
        self, partitions: Iterable[MirroredPartition], withdraw: Callable[[MirroredPartition], bool]
    ) -> set[MirroredPartition]:
        """
        Returns those that may be written: nothing is missing, or it will be copied again.

        ``withdraw`` stops writing to a partition, and returns whether nothing is under way.

        Raises:
            ClusterError: a cluster does not answer.
        """
        partitions = list(partitions)
        ends = await self._ends(partitions)
        suspects, self._suspects, cut_off = self._suspects, set(), dict[MirroredPartition, _End]()
        for partition in partitions:
            end = ends.get(partition)
            if not _is_suspect(partition, end):
                continue
            # A broker that does not know yet that another one leads has not all: it must be seen
            # twice, unless a batch has been appended before the last copy.
            is_certain = partition.remote.cut_at is not None or partition in suspects
            if withdraw(partition) and is_certain and end is not None:
                cut_off[partition] = end
            else:
                self._suspects.add(partition)
        self.is_unsure = bool(self._suspects)
        if self.is_unsure:
            await self._target.refresh()
        gone_back = await self._go_back(cut_off) if cut_off else set()
        return gone_back | (set(partitions) - self._suspects - cut_off.keys())

    async def _ends(self, partitions: Iterable[MirroredPartition]) -> dict[MirroredPartition, _End]:
        """Those of remote logs of which it is known how far they were written."""
        known = {
            p.sender.target: (p, p.remote.end) for p in partitions if p.remote.end != NO_OFFSET
        }
        found = stable = await self._target.list_offsets(known, LATEST)
        if self._is_transactional:
            stable = await self._target.list_offsets(known, LATEST, read_committed=True)
        ends = {
            partition: _End(remote_end, found[where], stable[where], stable[where] < found[where])
            for where, (partition, remote_end) in known.items()
            if where in found and where in stable
        }
        if self._is_transactional:
            ends = await self._without_markers(ends)
        cut_at = {p: p.remote.cut_at for p in ends if p.remote.cut_at is not None}
        return ends | {p: _End(at + 1, at, at, ends[p].is_open) for p, at in cut_at.items()}

    async def _without_markers(
        self, ends: Mapping[MirroredPartition, _End]
    ) -> dict[MirroredPartition, _End]:
        """A log is read again only when its end has moved: copies may have no marker for good."""
        read, self._records_end = self._records_end, {}
        found = dict(ends)
        for partition, end in ends.items():
            if end.end > end.known:
                continue
            read_at, records_end = read.get(partition, (NO_OFFSET, NO_OFFSET))
            if read_at != end.end:
                where = partition.sender.target
                records_end = await end_without_markers(self._target, where, end.end)
            self._records_end[partition] = end.end, records_end
            found[partition] = end._replace(end=records_end, stable=min(records_end, end.stable))
        return found

    async def _go_back(self, cut_off: Mapping[MirroredPartition, _End]) -> set[MirroredPartition]:
        """Has copied again what the target has lost; those for which that is done."""
        starts = await self._source.list_offsets([each.source for each in cut_off], EARLIEST)
        stored = await self._runs(cut_off)
        done = set()
        lost: dict[MirroredPartition, PartitionRuns | None] = {}
        for partition, end in cut_off.items():
            runs = stored.get(partition.source)
            if runs is not None and runs.logs.conflicts_with(partition.logs):
                runs = None
            marker = None if runs is None else runs.marker
            if not is_cut_off(end.known, end=end.end, stable=end.stable, marker=marker):
                done.add(partition)
            elif partition.source in starts:
                lost[partition] = runs
        await self._store({partition: cut_off[partition].place for partition in lost})
        for partition, runs in lost.items():
            if partition.progress.has_moved:  # It is not stored yet.
                continue
            end = cut_off[partition]
            if end.is_open:
                await self._committer.abort(partition.sender)
            if self._copy_again(partition, end.place, runs, starts[partition.source]):
                done.add(partition)
        return done

    async def _store(self, places: Mapping[MirroredPartition, int]) -> None:
        """Has the next task know what is lost, whatever is written until then."""
        for partition, place in places.items():
            if partition.remote.cut_at is None:
                partition.remote.cut(place)
                partition.progress.require_commit()
        if any(partition.progress.has_moved for partition in places):
            await self._committer.commit(places)

    def _copy_again(
        self, partition: MirroredPartition, place: int, runs: PartitionRuns | None, start: int
    ) -> bool:
        back = None if runs is None else runs.reverse(place)
        reached = partition.progress.mirrored + 1
        gap = remote_truncated(reached, back=None if back is None else back.offset, start=start)
        if not self._gaps.found(partition, gap):
            return False
        partition.begin_at(gap.resume, self._now_ms())
        partition.remote.reach(place)
        self._forget(partition.source)
        return True


def _is_suspect(partition: MirroredPartition, end: _End | None) -> bool:
    is_written = partition.remote.is_there
    if end is None:
        return partition.remote.end != NO_OFFSET and not is_written
    return end.may_be_cut_off(is_written=is_written)
