"""
Whether remote logs still have all that was copied into them.

The end of one may be cut off by an unclean leader election or with a lost disk. What was lost is
copied again, from where the exact runs say, or from the source's start where they do not reach.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.gap_reports import Gaps
from flows.source.send.send_queue import PartitionSender
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.core.positions.source_gaps import is_cut_off, remote_truncated
from mm2.core.translation.partition_runs import PartitionRuns
from mm2.kafka.wire.requests.list_offsets import EARLIEST, LATEST
from mm2.kafka.wire.wire_client import WireClient

StoredRuns = Callable[
    [Iterable[MirroredPartition]], Awaitable[Mapping[TopicPartition, PartitionRuns]]
]
"""Reads what is published of the runs of some partitions."""


class Aborts(Protocol):
    """Ends what transactions left open."""

    async def abort(self, lane: PartitionSender) -> None:
        """Aborts what an earlier transaction may have left open in a partition."""


class _End(NamedTuple):
    """
    Where a remote log ends.

    Attributes:
        known: offset behind the copy of the last record, as it was before the question.
        end: of the log.
        stable: its last stable offset; the end at least once.
    """

    known: int
    end: int
    stable: int

    def may_be_cut_off(self, *, is_written: bool) -> bool:
        """Whether copies may be lost; the last marker may be late while the task writes."""
        return self.stable < self.known and self.end <= self.known - is_written


class RemoteEnds:
    """
    Looks at the ends of remote logs, and has copied again what is missing there.

    Args:
        source: the source cluster.
        target: the target cluster.
        gaps: takes note of what is missing.
        now_ms: the clock.
        forget: called when a partition goes back, for those who remember where it was.
        runs: tells where the target had what.
        committer: makes what the target has count.
        is_transactional: whether that is done in transactions.

    Attributes:
        is_unsure: whether to look again soon: ends of logs are not known, or not confirmed.
    """

    def __init__(
        self,
        *,
        source: WireClient,
        target: WireClient,
        gaps: Gaps,
        now_ms: Callable[[], int],
        forget: Callable[[TopicPartition], None],
        runs: StoredRuns,
        committer: Aborts,
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
        self._doubted: set[MirroredPartition] = set()
        self.is_unsure = False

    async def look(
        self, partitions: Iterable[MirroredPartition], withdraw: Callable[[MirroredPartition], bool]
    ) -> set[MirroredPartition]:
        """
        Those that may be written: nothing is missing, or they have gone back to copy it again.

        Args:
            partitions: whose remote topics are those that were written to.
            withdraw: has nothing more written; whether nothing is under way any more.

        Raises:
            ClusterError: a cluster does not answer.
        """
        partitions = list(partitions)
        ends = await self._ends(partitions)
        doubted, self._doubted, cut_off = self._doubted, set(), dict[MirroredPartition, _End]()
        for partition in partitions:
            end = ends.get(partition)
            if not _is_doubtful(partition, end):
                continue
            # A broker that does not know yet that another one leads has not all: it must be seen
            # twice, unless a batch has been appended before the last copy.
            is_certain = partition.cut_at is not None or partition in doubted
            if withdraw(partition) and is_certain and end is not None:
                cut_off[partition] = end
            else:
                self._doubted.add(partition)
        self.is_unsure = bool(self._doubted)
        if self.is_unsure:
            await self._target.refresh()
        gone_back = await self._go_back(cut_off) if cut_off else set()
        return gone_back | (set(partitions) - self._doubted - cut_off.keys())

    async def _ends(self, partitions: Iterable[MirroredPartition]) -> dict[MirroredPartition, _End]:
        """Those of remote logs of which it is known how far they were written."""
        known = {p.lane.target: (p, p.remote_end) for p in partitions if p.remote_end != NO_OFFSET}
        found = stable = await self._target.list_offsets(known, LATEST)
        if self._is_transactional:
            stable = await self._target.list_offsets(known, LATEST, read_committed=True)
        ends = {
            partition: _End(remote_end, found[where], stable[where])
            for where, (partition, remote_end) in known.items()
            if where in found and where in stable
        }
        cut_at = {p: p.cut_at for p in ends if p.cut_at is not None}
        return ends | {p: _End(at + 1, at, at) for p, at in cut_at.items()}

    async def _go_back(self, cut_off: Mapping[MirroredPartition, _End]) -> set[MirroredPartition]:
        """Has copied again what the target has lost; those for which that is done."""
        starts = await self._source.list_offsets([each.source for each in cut_off], EARLIEST)
        stored = await self._runs(cut_off)
        done = set()
        for partition, end in cut_off.items():
            runs = stored.get(partition.source)
            if runs is not None and runs.logs.conflicts_with(partition.logs):
                runs = None
            marker = None if runs is None else runs.marker
            if not is_cut_off(end.known, end=end.end, stable=end.stable, marker=marker):
                done.add(partition)
            elif (start := starts.get(partition.source)) is not None:
                if end.stable < end.end:
                    await self._committer.abort(partition.lane)
                if self._copy_again(partition, end, runs, start):
                    done.add(partition)
        return done

    def _copy_again(
        self, partition: MirroredPartition, end: _End, runs: PartitionRuns | None, start: int
    ) -> bool:
        """Whether it may."""
        place = min(end.end, end.stable)
        back = None if runs is None else runs.reverse(place)
        reached = partition.mirrored + 1
        gap = remote_truncated(reached, back=None if back is None else back.offset, start=start)
        if not self._gaps.found(partition, gap):
            return False
        partition.begin_at(gap.resume, self._now_ms())
        partition.remote_end = place
        self._forget(partition.source)
        return True


def _is_doubtful(partition: MirroredPartition, end: _End | None) -> bool:
    """Whether copies may be lost, or nobody has said yet that they are not."""
    is_written = partition.is_remote_there
    if end is None:
        return partition.remote_end != NO_OFFSET and not is_written
    return end.may_be_cut_off(is_written=is_written)
