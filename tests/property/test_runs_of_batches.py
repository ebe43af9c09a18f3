"""Runs of a batch noted together are what its records noted one by one would be."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.source.send.outgoing_batch import OutgoingBatch
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.offset_sync import OffsetSyncQueue
from mm2.core.translation.run_tracker import RunTracker
from mm2.core.translation.runs import UNKNOWN_LOGS, Run, Runs

P0 = TopicPartition(TopicName("t"), 0)
STEPS = st.lists(st.integers(0, 4), min_size=1, max_size=30)
BATCHES = st.lists(st.tuples(STEPS, st.integers(0, 3), st.booleans()), min_size=1, max_size=6)


def one_by_one(offsets: Sequence[int], downstream: int, before: int) -> list[Run]:
    """Each record that does not repeat an offset, joined with the run that it continues."""
    runs: list[Run] = []
    for at, offset in enumerate(offsets, downstream):
        if offset != before:
            last = runs[-1] if runs else Run(-1, -1, 0)
            if (last.upstream_end, last.downstream + last.records) == (offset, at):
                runs[-1] = last._replace(records=last.records + 1)
            else:
                runs.append(Run(offset, at, 1))
        before = offset
    return runs


def batch(offsets: Sequence[int], downstream: int, *, continues: bool = False) -> OutgoingBatch:
    found = OutgoingBatch(bytearray(), 0, offsets, 0, 1, continues=continues)
    found.base_offset = downstream
    return found


@pytest.mark.parametrize("kind", [list, lambda offsets: memoryview(array("q", offsets))])
@given(steps=STEPS, downstream=st.integers(0, 9), continues=st.booleans())
def test_runs_are_those_of_the_records(
    kind: type[list[int]], steps: list[int], downstream: int, *, continues: bool
) -> None:
    offsets = kind(accumulate(steps))
    runs = batch(offsets, downstream, continues=continues).runs()
    assert list(runs) == one_by_one(offsets, downstream, offsets[0] if continues else -1)


def test_offsets_in_a_row_are_one_run_and_a_place_that_nobody_knows_is_none() -> None:
    assert list(batch(range(5, 9), 100).runs()) == [Run(5, 100, 4)]
    assert not batch([5, 7], -1).runs()


@given(batches=BATCHES, full=st.integers(1, 5), lag=st.integers(0, 9))
def test_blocks_and_syncs_are_the_same(
    batches: list[tuple[list[int], int, bool]], full: int, lag: int
) -> None:
    trackers = RunTracker(full=full), RunTracker(full=full)
    queues = OffsetSyncQueue(lag), OffsetSyncQueue(lag)
    upstream, downstream = 10, 50
    for steps, jump, is_taken in batches:
        offsets = list(accumulate(steps, initial=upstream))
        runs = batch(offsets, downstream + jump).runs()
        trackers[0].add_all(runs, UNKNOWN_LOGS)
        queues[0].acknowledged_runs(P0, runs)
        for run in runs:
            trackers[1].add(run, UNKNOWN_LOGS)
            queues[1].acknowledged(P0, *run)
        if is_taken:
            assert trackers[0].take() == trackers[1].take()
            assert list(queues[0].fire()) == list(queues[1].fire())
        upstream, downstream = offsets[-1] + 1, downstream + jump + len(offsets)
    assert trackers[0].take() == trackers[1].take()
    for queue in queues:
        queue.promote_delayed()
    assert list(queues[0].fire()) == list(queues[1].fire())


def test_no_runs_change_nothing() -> None:
    tracker, queue = RunTracker(), OffsetSyncQueue(1)
    tracker.add_all(Runs(), UNKNOWN_LOGS)
    queue.acknowledged_runs(P0, Runs())
    assert (tracker.take(), list(queue.fire())) == ([], [])
