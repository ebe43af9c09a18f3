"""Copies that the target has lost are noticed, and copied again."""

from __future__ import annotations

import pytest

from flows.source.commit.positions_topic import position_of
from flows.source.send.outgoing_batch import OutgoingBatch
from mm2.core.model import NO_OFFSET
from mm2.core.positions.log_identity import Lineage
from mm2.core.translation.runs import Run, Runs
from tests.support.remote_topic_bench import NEW_ID, RemoteTopicBench

_COPIED = Runs([Run(0, 2, 5), Run(5, 8, 5)])
"""Of the source's offsets 0 to 9; somebody else has written before them, and in between."""


@pytest.mark.parametrize(("end", "resume"), [(13, 10), (12, 9), (9, 6), (8, 5), (7, 5), (5, 3)])
def test_copies_that_the_target_has_lost_are_copied_again_and_no_others(
    end: int, resume: int
) -> None:
    bench = RemoteTopicBench()
    bench.copied(_COPIED)
    bench.cluster.ends[False] = end
    bench.look()
    assert bench.is_written() == (end == 13)
    bench.look()
    assert bench.is_written()
    assert bench.partition.fetch.position == resume
    assert [(g.kind, g.first, g.end) for g in bench.partition.gaps.reports] == [
        ("remote-truncated", resume, 10)
    ][: end < 13]
    assert bench.partition.remote.end == min(end, 13)
    assert bench.partition.gaps.lost == 0


def test_what_the_source_no_longer_has_either_is_counted_as_lost() -> None:
    bench = RemoteTopicBench()
    bench.copied(_COPIED)
    bench.cluster.ends[False] = 3
    bench.look()
    bench.look()
    assert (bench.partition.fetch.position, bench.partition.gaps.lost) == (3, 2)


@pytest.mark.parametrize("knows_another_log", [True, False])
def test_where_no_runs_tell_the_place_all_is_copied_again(*, knows_another_log: bool) -> None:
    bench = RemoteTopicBench()
    bench.copied(_COPIED, remote=NEW_ID)
    if not knows_another_log:
        bench.runs.clear()
    bench.cluster.ends[False] = 12
    bench.look()
    bench.look()
    assert bench.partition.fetch.position == 3, "the start of the source"


def test_where_copies_are_lost_is_stored_before_anything_is_written() -> None:
    bench = RemoteTopicBench()
    bench.copied(_COPIED)
    bench.cluster.ends[False] = 9
    bench.stores = False
    for _ in range(3):
        bench.look()
        assert not bench.is_written()
    bench.partition.progress.commit(bench.partition.progress.mirrored)
    bench.look()
    assert bench.is_written()
    assert set(bench.stored) == {9}
    assert bench.partition.fetch.position == 6


def test_a_transaction_is_aborted_by_the_task_that_reads_what_another_has_stored() -> None:
    bench = RemoteTopicBench(is_transactional=True)
    bench.copied(_COPIED, is_transactional=True)
    bench.partition.remote.cut(8)
    bench.cluster.ends = {False: 30, True: 8}
    bench.look()
    assert len(bench.aborted) == 1
    assert bench.partition.fetch.position == 5
    assert bench.partition.remote.end == 8


def test_a_log_that_ends_early_for_a_moment_only_is_gone_on_with() -> None:
    """A broker may not have heard yet that another one leads."""
    bench = RemoteTopicBench()
    bench.copied(_COPIED)
    bench.cluster.ends[False] = 9
    bench.look()
    assert bench.is_unsure()
    bench.cluster.ends[False] = 20
    bench.look()
    assert not bench.is_unsure()
    assert bench.is_written()
    assert bench.partition.fetch.position == 10
    assert not bench.partition.gaps.reports


def test_nothing_is_written_before_the_end_of_the_log_is_known() -> None:
    bench = RemoteTopicBench()
    bench.copied(_COPIED)
    bench.cluster.ends[False] = None
    bench.look()
    assert not bench.is_written()
    assert bench.is_unsure()
    bench.cluster.ends[False] = 13
    bench.look()
    assert bench.is_written()
    bench.cluster.ends[False] = None
    bench.look()
    assert bench.is_written(), "once it has been compared"


def test_by_policy_it_stops_when_copies_are_lost() -> None:
    bench = RemoteTopicBench(fails=True)
    bench.copied(_COPIED)
    bench.cluster.ends[False] = 9
    bench.look()
    bench.look()
    assert bench.partition.error == "remote-truncated: offsets 6 to 10"
    assert not bench.is_written()


@pytest.mark.parametrize(
    ("end", "stable", "resume"), [(14, 14, 10), (13, 8, 5), (11, 8, 5), (8, 8, 5), (15, 8, 10)]
)
def test_a_transaction_without_its_marker_is_copied_again_and_aborted(
    end: int, stable: int, resume: int
) -> None:
    """The coordinator takes it for committed, and so nobody will ever end it."""
    bench = RemoteTopicBench(is_transactional=True)
    bench.copied(_COPIED, is_transactional=True)
    bench.cluster.ends = {False: end, True: stable}
    bench.look()
    bench.look()
    assert bench.is_written()
    assert bench.partition.fetch.position == resume
    assert bool(bench.aborted) == (stable < end <= 13)


@pytest.mark.parametrize(
    ("end", "stable", "first_marker", "resume"),
    [(13, 13, 12, 9), (13, 13, 8, 5), (12, 12, 8, 5), (12, 12, 11, 8), (12, 9, 11, 6)],
)
def test_markers_that_were_written_again_do_not_hide_lost_copies(
    end: int, stable: int, first_marker: int, resume: int
) -> None:
    """A coordinator that did not know that its marker was written does so at its start."""
    bench = RemoteTopicBench(is_transactional=True)
    bench.copied(_COPIED, is_transactional=True)
    bench.cluster.ends = {False: end, True: stable}
    bench.cluster.markers = range(first_marker, end)
    bench.look()
    bench.look()
    assert bench.is_written()
    assert bench.partition.fetch.position == resume
    assert [gap.first for gap in bench.partition.gaps.reports] == [resume]


def test_copies_without_a_marker_of_a_flow_that_wrote_at_least_once_are_not_lost() -> None:
    bench = RemoteTopicBench(is_transactional=True)
    bench.copied(_COPIED)
    bench.cluster.ends = {False: 13, True: 13}
    for _ in range(3):
        bench.look()
        assert bench.is_written()
    assert not bench.partition.gaps.reports
    assert bench.cluster.fetched == 1, "its end has not moved"


def test_a_transaction_of_somebody_else_holds_nothing_back() -> None:
    bench = RemoteTopicBench(is_transactional=True)
    bench.copied(_COPIED, is_transactional=False)
    bench.cluster.ends = {False: 13, True: 5}
    bench.look()
    bench.look()
    assert bench.is_written()
    assert (bench.partition.fetch.position, bench.aborted) == (10, [])


def test_a_batch_that_is_appended_before_the_last_copy_tells_that_copies_are_lost() -> None:
    """The log has grown again already when it is looked at."""
    bench = RemoteTopicBench()
    bench.look()
    bench.copied(_COPIED)
    bench.partition.progress.uncommitted = 1
    batch = OutgoingBatch(bytearray(), 0, range(10, 40), 1, 0, answer=0, base_offset=9)
    bench.partition.acknowledge(batch, now_ms=1)
    assert bench.partition.progress.has_moved, "a task that takes over must find it out as well"
    bench.cluster.ends[False] = 39
    bench.look()
    assert bench.is_written()
    assert bench.partition.fetch.position == 6
    assert bench.partition.remote.cut_at is None
    (report,) = bench.partition.gaps.reports
    assert (report.kind, report.first, report.end) == ("remote-truncated", 6, 40)


@pytest.mark.parametrize("is_transactional", [False, True])
def test_a_task_that_takes_over_copies_again_what_the_one_before_it_saw_lost(
    is_transactional: bool,
) -> None:
    """That one drained before it could go back, and the log has grown again."""
    left = RemoteTopicBench(is_transactional=is_transactional)
    left.copied(_COPIED, is_transactional=is_transactional)
    batch = OutgoingBatch(bytearray(), 0, range(10, 40), 1, 0, answer=0, base_offset=9)
    later = OutgoingBatch(bytearray(), 0, range(40, 50), 1, 0, answer=0, base_offset=39)
    left.partition.landed(batch)
    left.partition.landed(later)
    if not is_transactional:  # Else the position is part of the transaction that they are in.
        left.partition.acknowledge(batch, now_ms=1)
        left.partition.acknowledge(later, now_ms=1)
    _, offset, lineage = position_of(left.partition, 49, later)
    taken = RemoteTopicBench(is_transactional=is_transactional)
    taken.copied(_COPIED, is_transactional=is_transactional)
    taken.partition.continue_from(offset, Lineage.decode(lineage.encode()))
    taken.cluster.ends = {False: 49, True: 49}
    taken.look()
    assert taken.is_written()
    assert taken.partition.fetch.position == 6
    assert taken.partition.lineage.cut_at is None
    (report,) = taken.partition.gaps.reports
    assert (report.kind, report.first, report.end) == ("remote-truncated", 6, 50)


def test_the_first_of_several_lost_offsets_is_remembered() -> None:
    bench = RemoteTopicBench()
    bench.copied(_COPIED)
    for first, base in ((10, 9), (20, 10), (30, 4)):
        batch = OutgoingBatch(
            bytearray(), 0, range(first, first + 10), 1, 0, answer=0, base_offset=base
        )
        bench.partition.landed(batch)
        bench.partition.acknowledge(batch, now_ms=1)
    assert bench.partition.remote.cut_at == 4


def test_an_offset_that_nobody_told_is_not_compared() -> None:
    bench = RemoteTopicBench()
    bench.copied(_COPIED)
    bench.partition.progress.uncommitted = 1
    batch = OutgoingBatch(bytearray(), 0, range(10, 40), 1, 0, answer=0, base_offset=NO_OFFSET)
    bench.partition.acknowledge(batch, now_ms=1)
    assert bench.partition.remote.cut_at is None
