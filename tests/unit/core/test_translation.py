"""What runs and Java's syncs say together."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from mm2.core.internal_records import OffsetSync
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.offset_sync_store import TOO_OLD, OffsetSyncStore
from mm2.core.translation.offset_translation import MappedOffset, OffsetTranslation, RunStore
from mm2.core.translation.run_codec import encode_key, encode_value
from mm2.core.translation.runs import UNKNOWN_LOGS, Block, Logs, Run, Runs, TaskTenure
from mm2.errors import SchemaError

WHERE = TopicPartition(TopicName("t"), 0)
LOGS = Logs(UUID(int=1), UUID(int=2))
OTHER = TopicPartition(TopicName("t"), 1)
BLOCK = Block(100, 140, Runs([Run(100, 50, 10), Run(120, 60, 10)]))


def syncs_of(*syncs: tuple[int, int]) -> OffsetSyncStore:
    store = OffsetSyncStore(must_read_to_end=False)
    for upstream, downstream in syncs:
        store.handle(OffsetSync(WHERE, upstream, downstream))
    store.backlog_read()
    return store


def runs_of(*blocks: Block) -> RunStore:
    store = RunStore()
    for block in blocks:
        store.handle(encode_key(WHERE, block.start), encode_value(block))
    store.backlog_read()
    return store


@pytest.mark.parametrize(
    ("upstream", "expected"),
    [
        (105, MappedOffset(55, exact=True)),
        (115, MappedOffset(60, exact=True)),
        (140, MappedOffset(70, exact=True)),
        # Beyond the runs the later of both answers counts.
        (141, MappedOffset(70, exact=False)),
        (200, MappedOffset(130, exact=False)),
        (201, MappedOffset(131, exact=False)),
        # Before them there are Java's numbers.
        (60, MappedOffset(10, exact=False)),
        (61, MappedOffset(11, exact=False)),
        (59, MappedOffset(TOO_OLD, exact=False)),
    ],
)
def test_runs_count_where_they_reach_and_syncs_elsewhere(
    upstream: int, expected: MappedOffset
) -> None:
    translation = OffsetTranslation(syncs_of((60, 10), (100, 50), (200, 130)), runs_of(BLOCK))
    assert translation.explain(WHERE, upstream) == expected
    assert translation.translate(WHERE, upstream) == expected.offset
    assert translation.exact_since(WHERE) == 100


def test_of_other_partitions_nothing_is_known() -> None:
    translation = OffsetTranslation(syncs_of(), runs_of(BLOCK))
    assert translation.explain(OTHER, 105) is None
    assert translation.translate(OTHER, 105) is None
    assert translation.exact_since(OTHER) is None


def test_nothing_is_said_before_both_topics_are_read() -> None:
    """C239."""
    runs = RunStore()
    translation = OffsetTranslation(syncs_of((100, 50)), runs)
    assert translation.explain(WHERE, 100) is None
    runs.backlog_read()
    assert translation.explain(WHERE, 100) == MappedOffset(50, exact=False)


def test_without_runs_there_are_javas_numbers() -> None:
    """C241, C243."""
    translation = OffsetTranslation(syncs_of((100, 50)))
    assert translation.explain(WHERE, 105) == MappedOffset(51, exact=False)
    assert translation.exact_since(WHERE) is None


@pytest.mark.parametrize("newest", [(105, 500), (105, 5), (115, 500)])
def test_runs_that_the_newest_sync_contradicts_are_not_believed(newest: tuple[int, int]) -> None:
    """Java's MirrorMaker has copied the topic again, and writes no runs."""
    translation = OffsetTranslation(syncs_of((100, 50), newest), runs_of(BLOCK))
    assert translation.explain(WHERE, 130) == MappedOffset(newest[1] + 1, exact=False)
    assert translation.exact_since(WHERE) is None


def test_a_sync_behind_the_runs_contradicts_nothing() -> None:
    translation = OffsetTranslation(syncs_of((300, 70)), runs_of(BLOCK))
    assert translation.explain(WHERE, 105) == MappedOffset(55, exact=True)


def test_a_sync_behind_the_runs_that_lies_before_their_end_contradicts_them() -> None:
    """The copy was made again by somebody who writes no runs."""
    translation = OffsetTranslation(syncs_of((300, 7)), runs_of(BLOCK))
    assert translation.explain(WHERE, 105) == MappedOffset(TOO_OLD, exact=False)
    assert translation.explain(WHERE, 301) == MappedOffset(8, exact=False)


@pytest.mark.parametrize(
    ("is_transactional", "next_copy", "exact"),
    [(True, 71, True), (True, 72, False), (False, 70, True), (False, 71, False)],
)
def test_a_sync_that_is_written_before_its_run_tells_of_the_copy_behind_the_last_marker(
    next_copy: int, *, is_transactional: bool, exact: bool
) -> None:
    """Exactly once, until the next block is written; farther away it is somebody else's copy."""
    block = replace(BLOCK, is_transactional=is_transactional)
    for blocks in ([block], [block, Block(140, 140, Runs())]):
        translation = OffsetTranslation(syncs_of((100, 50), (140, next_copy)), runs_of(*blocks))
        found = translation.explain(WHERE, 105), translation.reverse(WHERE, 65)
        assert (found == (MappedOffset(55, exact=True), MappedOffset(125, exact=True))) == exact


def test_older_syncs_still_contradict_runs_that_the_newest_is_beyond() -> None:
    """The remote log was made again, and Java's MirrorMaker went on at 5000 -> 0."""
    runs = runs_of(Block(0, 5000, Runs([Run(0, 0, 5000)]), LOGS, is_fresh=True))
    syncs = [(0, 0), (4999, 4999), *((5000 + 100 * n, 100 * n) for n in range(11)), (12000, 7000)]
    translation = OffsetTranslation(syncs_of(*syncs), runs)
    assert translation.explain(WHERE, 6001) == MappedOffset(1001, exact=False)
    assert translation.explain(WHERE, 3000) == MappedOffset(1, exact=False)
    assert translation.exact_since(WHERE) is None


@pytest.mark.parametrize(("logs", "expected"), [(LOGS, True), (UNKNOWN_LOGS, False)])
def test_older_syncs_of_a_known_log_may_tell_of_former_copies(logs: Logs, expected: bool) -> None:
    """A task was killed, and what followed its position was copied twice."""
    twice = Block(0, 9, Runs([Run(0, 0, 5), Run(5, 9, 4)]), logs, is_fresh=True)
    translation = OffsetTranslation(syncs_of((0, 0), (6, 6), (8, 12)), runs_of(twice))
    assert (translation.exact_since(WHERE) == 0) is expected


def test_of_two_syncs_about_one_record_the_later_one_counts() -> None:
    translation = OffsetTranslation(syncs_of((105, 5), (105, 55)), runs_of(BLOCK))
    assert translation.explain(WHERE, 106) == MappedOffset(56, exact=True)


def test_a_tombstone_takes_a_block_back_and_other_bytes_are_refused() -> None:
    runs = runs_of(BLOCK)
    runs.handle(encode_key(WHERE, 100), None)
    assert runs.partitions[WHERE].exact_since is None
    with pytest.raises(SchemaError):
        runs.handle(b"", None)


def test_what_is_known_of_a_partition_is_looked_at_anew_with_each_sync_and_block() -> None:
    syncs, runs = syncs_of((100, 50)), runs_of(BLOCK)
    translation = OffsetTranslation(syncs, runs)
    assert translation.explain(WHERE, 105) == MappedOffset(55, exact=True)
    syncs.handle(OffsetSync(WHERE, 105, 500))
    assert translation.explain(WHERE, 105) == MappedOffset(500, exact=False)
    later = Block(105, 140, Runs([Run(105, 500, 35)]))
    runs.handle(encode_key(WHERE, later.start), encode_value(later))
    assert translation.explain(WHERE, 106) == MappedOffset(501, exact=True)
    runs.handle(encode_key(WHERE, later.start), None)
    assert translation.explain(WHERE, 106) == MappedOffset(501, exact=False)


def test_a_late_block_of_a_former_task_and_compaction_leave_no_hole() -> None:
    """A task that was only paused writes the block with which the next one began."""
    former, latter = TaskTenure(1, 1, 0, 1), TaskTenure(1, 2, 0, 2)
    blocks = [
        Block(0, 10, Runs([Run(0, 0, 10)]), tenure=former),
        Block(10, 20, Runs([Run(10, 15, 10)]), tenure=latter),
        Block(10, 12, Runs([Run(10, 10, 2)]), tenure=former),
        Block(20, 30, Runs([Run(20, 26, 10)]), tenure=latter),
    ]
    topic = {encode_key(WHERE, *each.name): each for each in blocks}
    runs = RunStore()
    for key, block in topic.items():
        runs.handle(key, encode_value(block))
    runs.backlog_read()
    translation = OffsetTranslation(syncs_of(), runs)
    assert translation.exact_since(WHERE) == 0
    assert translation.explain(WHERE, 18) == MappedOffset(23, exact=True)


@pytest.mark.parametrize(
    ("syncs", "live", "expected"),
    [
        ([], None, LOGS),
        ([(0, 250)], None, UNKNOWN_LOGS),
        ([(0, 250)], LOGS, LOGS),
    ],
)
def test_answers_are_about_the_topics_of_the_runs_that_count(
    syncs: list[tuple[int, int]], live: Logs | None, expected: Logs
) -> None:
    there = {} if live is None else {WHERE.topic: live}
    translation = OffsetTranslation(syncs_of(*syncs), runs_of(KNOWN), there)
    assert translation.logs(WHERE) == expected
    assert translation.logs(OTHER) == UNKNOWN_LOGS


REMADE = Logs(UUID(int=1), UUID(int=3))
KNOWN = Block(0, 10, Runs([Run(0, 50, 10)]), LOGS)


@pytest.mark.parametrize("live", [LOGS, Logs(UUID(int=1), None), UNKNOWN_LOGS])
def test_runs_of_the_topics_that_there_are_count(live: Logs) -> None:
    translation = OffsetTranslation(syncs_of(), runs_of(KNOWN), {WHERE.topic: live})
    assert translation.explain(WHERE, 5) == MappedOffset(55, exact=True)
    assert translation.former() == set()
    assert translation.topics == {WHERE.topic}


def test_of_topics_that_are_gone_nothing_is_said() -> None:
    """Nor by the syncs that were written together with the runs: they may be past the truth."""
    live = {WHERE.topic: REMADE}
    translation = OffsetTranslation(syncs_of((0, 50), (8, 58)), runs_of(KNOWN), live)
    assert translation.explain(WHERE, 5) is None
    assert translation.reverse(WHERE, 55) is None
    assert translation.exact_since(WHERE) is None
    assert translation.former() == {WHERE}
    live[WHERE.topic] = LOGS
    assert translation.explain(WHERE, 5) == MappedOffset(55, exact=True)


def test_syncs_that_contradict_runs_of_a_former_topic_are_about_the_new_one() -> None:
    """Java's MirrorMaker has made the copy anew."""
    translation = OffsetTranslation(syncs_of((0, 0), (8, 8)), runs_of(KNOWN), {WHERE.topic: REMADE})
    assert translation.explain(WHERE, 5) == MappedOffset(1, exact=False)
    assert translation.former() == set()


def test_without_runs_there_are_no_former_topics() -> None:
    translation = OffsetTranslation(syncs_of((0, 0)), None, {WHERE.topic: REMADE})
    assert (translation.former(), translation.topics) == (set(), frozenset())
    assert translation.explain(WHERE, 0) == MappedOffset(0, exact=False)
    assert not OffsetTranslation(syncs_of(), RunStore(), {WHERE.topic: REMADE}).former()


def test_runs_of_the_topics_that_there_are_are_safer_than_syncs_that_contradict_them() -> None:
    """The copy was made anew; the sync of its first record is still on its way."""
    syncs, live = syncs_of((0, 250), (8, 258)), {WHERE.topic: LOGS}
    translation = OffsetTranslation(syncs, runs_of(KNOWN), live)
    assert translation.explain(WHERE, 5) == MappedOffset(55, exact=False)
    assert translation.explain(WHERE, 20) == MappedOffset(60, exact=False)
    assert translation.reverse(WHERE, 55) == MappedOffset(5, exact=False)
    assert translation.reverse(WHERE, 3) is None
    assert OffsetTranslation(syncs, runs_of(KNOWN)).explain(WHERE, 5) == MappedOffset(
        251, exact=False
    )
