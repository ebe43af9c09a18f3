"""Exact runs of one partition."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from mm2.core.translation.partition_runs import PartitionRuns
from mm2.core.translation.runs import (
    UNKNOWN_LOGS,
    Block,
    BlockName,
    Logs,
    MappedOffset,
    Passed,
    Run,
    Runs,
    TaskTenure,
)

OLD = Logs(UUID(int=1), UUID(int=2))
NEW = Logs(UUID(int=3), UUID(int=2))


def block(start: int, end: int, *runs: tuple[int, int, int], **flags: bool | Logs) -> Block:
    return Block(start, end, Runs(Run(*run) for run in runs), **flags)  # type: ignore[arg-type]


def known(*blocks: Block, most: int = 1000) -> PartitionRuns:
    runs = PartitionRuns(most)
    for each in blocks:
        runs.add(each)
    return runs


def exact(offset: int) -> MappedOffset:
    return MappedOffset(offset, exact=True)


def at_least(offset: int) -> MappedOffset:
    return MappedOffset(offset, exact=False)


GAPS = block(100, 130, (100, 7, 10), (115, 17, 5))
"""Ten records, a gap of five, five records, and ten offsets that were not copied."""


def test_inside_a_run_both_offsets_go_together() -> None:
    assert [known(GAPS).translate(x) for x in (100, 109, 115, 119)] == [
        exact(7),
        exact(16),
        exact(17),
        exact(21),
    ]


def test_in_a_gap_the_next_record_is_the_first_unread_one() -> None:
    assert {known(GAPS).translate(x) for x in range(110, 115)} == {exact(17)}


def test_behind_the_last_run_the_next_copy_will_be_the_first_unread_record() -> None:
    assert {known(GAPS).translate(x) for x in range(120, 131)} == {exact(22)}


def test_beyond_what_is_known_the_end_of_the_last_run_is_safe() -> None:
    assert known(GAPS).translate(131) == at_least(22)


def test_before_what_is_known_nothing_is_said() -> None:
    assert known(GAPS).translate(99) is None
    assert known().translate(0) is None
    assert known(block(10, 20)).translate(15) is None


def test_blocks_that_meet_are_as_one() -> None:
    runs = known(GAPS, block(130, 140), block(140, 150, (145, 30, 5)))
    assert [runs.translate(x) for x in (125, 130, 139, 144, 145, 150)] == [
        exact(30),
        exact(30),
        exact(30),
        exact(30),
        exact(30),
        exact(35),
    ]
    assert runs.exact_since == 100


def test_in_a_hole_translation_stays_behind_it() -> None:
    runs = known(GAPS, block(200, 210, (200, 50, 10)))
    assert [runs.translate(x) for x in (119, 120, 130, 131, 199, 200)] == [
        exact(21),
        at_least(22),
        at_least(22),
        at_least(22),
        at_least(22),
        exact(50),
    ]
    assert runs.exact_since == 200


def test_a_block_without_runs_behind_a_hole_knows_no_exact_end() -> None:
    assert known(GAPS, block(200, 210)).translate(205) == at_least(22)


def test_the_last_copy_of_a_record_wins() -> None:
    runs = known(block(0, 150, (0, 0, 150)), block(120, 130, (120, 200, 10), is_fresh=True))
    assert [runs.translate(x) for x in (119, 120, 129, 130)] == [
        exact(119),
        exact(200),
        exact(209),
        exact(210),
    ]
    # What was copied before the task began anew is copied a second time.
    assert runs.translate(140) == at_least(210)


def test_a_block_of_the_same_start_replaces_the_former() -> None:
    runs = known(block(0, 10, (0, 5, 10)), block(0, 20, (0, 5, 20)))
    assert [runs.blocks[0].end, len(runs.blocks)] == [20, 1]


def test_a_block_about_another_topic_replaces_everything() -> None:
    old, new = Block(0, 9, Runs([Run(0, 0, 9)]), OLD), Block(5, 9, Runs([Run(5, 70, 4)]), NEW)
    assert known(old, new).translate(3) is None
    assert known(old, Block(5, 9, Runs([Run(5, 70, 4)]))).translate(3) == exact(3)
    # What a sparse block was made of is gone with the topic.
    assert list(known(new, Block(0, 5, Runs([Run(0, 0, 1)]), OLD, is_sparse=True)).blocks) == [new]


def test_a_task_that_begins_knows_no_topics_yet_and_hides_none() -> None:
    old, new = Block(0, 50, Runs([Run(0, 0, 50)]), OLD), Block(71, 80, Runs([Run(71, 20, 9)]), NEW)
    runs = known(old, block(71, 71, is_fresh=True), new)
    assert list(runs.blocks) == [new]
    assert runs.translate(15) is None


def test_whether_all_is_of_known_logs_is_forgotten_with_the_runs() -> None:
    blocks = [
        Block(0, 9, Runs([Run(0, 0, 9)]), OLD),
        block(9, 9),
        block(9, 12, (9, 9, 3)),
        Block(12, 15, Runs([Run(12, 0, 3)]), OLD),
        Block(15, 18, Runs([Run(15, 0, 3)]), NEW),
    ]
    told = [known(*blocks[: n + 1]).is_of_known_logs for n in range(5)]
    assert told == [True, True, False, False, True]


def test_a_remote_log_that_was_cut_off_takes_its_records_with_it() -> None:
    runs = known(
        block(0, 10, (0, 0, 5), (7, 5, 3)),
        block(10, 20, (10, 8, 10)),
        block(20, 25, (20, 6, 5), is_fresh=True),
    )
    assert [runs.translate(x) for x in (4, 6, 7, 8, 9, 19, 20)] == [
        exact(4),
        exact(5),
        exact(5),
        at_least(6),
        at_least(6),
        at_least(6),
        exact(6),
    ]


def test_a_remote_log_that_was_cut_off_between_runs_ends_there() -> None:
    runs = known(block(0, 10, (0, 0, 5), (7, 5, 3)), block(12, 13, (12, 5, 1)))
    assert [runs.blocks[0].end, list(runs.blocks[0].runs)] == [7, [Run(0, 0, 5)]]
    assert runs.blocks[0].before_downstream(9) is runs.blocks[0]


def test_a_removed_block_leaves_a_hole() -> None:
    runs = known(GAPS, block(130, 140, (130, 22, 10)), block(140, 150, (140, 32, 10)))
    runs.remove(BlockName(130))
    assert runs.translate(135) == at_least(22)
    assert runs.exact_since == 140
    runs.remove(BlockName(130))


def test_of_too_many_runs_the_older_half_becomes_sparse() -> None:
    blocks = [
        block(100 * n, 100 * (n + 1), *((100 * n + 2 * i, 50 * n + i, 1) for i in range(50)))
        for n in range(8)
    ]
    runs = known(*blocks, most=300)
    assert runs.exact_since == 300
    assert runs.translate(301) == exact(151)
    assert runs.translate(0) == exact(0)
    assert runs.translate(131) == at_least(51)
    assert runs.translate(299) == at_least(149)
    assert sum(len(each.runs) for each in runs.blocks) <= 300


def test_what_becomes_sparse_hides_no_hole_behind_a_task_that_told_nothing() -> None:
    """It was killed after its first commit; the next one began at 500."""
    blocks = [block(n, n + 10, (n, n - 400, 9)) for n in range(500, 600, 10)]
    runs = known(block(0, 0, is_fresh=True), block(400, 400, is_fresh=True), *blocks, most=12)
    assert runs.blocks[0].is_sparse
    assert runs.blocks[0].start == 500
    assert [runs.translate(x) for x in (123, 450, 500)] == [None, None, exact(100)]


def test_what_becomes_sparse_is_of_the_topics_of_its_runs() -> None:
    gaps = block(10, 29, *((n, n, 1) for n in range(10, 20, 2)))
    runs = known(Block(0, 9, Runs([Run(0, 0, 9)]), OLD), block(9, 9, is_fresh=True), gaps, most=8)
    assert [(each.is_sparse, each.logs) for each in runs.blocks] == [
        (True, OLD),
        (False, UNKNOWN_LOGS),
    ]


def test_blocks_that_tell_nothing_do_not_become_sparse() -> None:
    runs = known(*(block(n, n, is_fresh=True) for n in range(5)), most=4)
    assert [(each.start, each.is_sparse) for each in runs.blocks] == [
        (2, False),
        (3, False),
        (4, False),
    ]


def test_one_block_is_never_made_sparse() -> None:
    runs = known(GAPS, most=1)
    assert runs.exact_since == 100


def test_a_sparse_block_takes_the_place_of_what_it_was_made_of() -> None:
    runs = known(GAPS, block(130, 140, (130, 22, 10)), block(140, 150, (140, 32, 10)))
    sparse = block(100, 140, (100, 7, 10), (130, 22, 10), is_sparse=True)
    runs.add(sparse)
    assert list(runs.blocks) == [sparse, block(140, 150, (140, 32, 10))]
    assert runs.translate(115) == at_least(17)
    assert runs.translate(140) == exact(32)


def test_a_sparse_block_never_hides_what_is_known_better() -> None:
    longer = block(100, 150, (100, 7, 50))
    runs = known(longer, block(150, 160, (150, 57, 10)))
    runs.add(block(100, 120, (100, 7, 1), is_sparse=True))
    runs.add(block(110, 120, (110, 17, 1), is_sparse=True))
    assert list(runs.blocks) == [longer, block(150, 160, (150, 57, 10))]


def test_a_sparse_block_cuts_what_begins_before_it() -> None:
    runs = known(block(0, 50, (0, 0, 50)))
    runs.add(block(40, 60, (40, 40, 1), is_sparse=True))
    assert [(each.start, each.end) for each in runs.blocks] == [(0, 40), (40, 60)]
    assert runs.translate(55) == at_least(41)


def test_back_from_the_copy() -> None:
    runs = known(GAPS, block(130, 140, (130, 30, 10), is_transactional=True))
    assert [runs.reverse(y) for y in (6, 7, 16, 17, 21, 22, 29, 30, 39, 40, 41, 42)] == [
        None,
        exact(100),
        exact(109),
        exact(115),
        exact(119),
        exact(130),
        exact(130),
        exact(130),
        exact(139),
        exact(140),
        exact(140),
        at_least(140),
    ]


def test_back_from_records_that_were_copied_twice_nothing_is_skipped() -> None:
    runs = known(block(0, 150, (0, 0, 150)), block(120, 130, (120, 200, 10), is_fresh=True))
    assert runs.reverse(150) == at_least(120)
    assert runs.reverse(120) == at_least(120)
    assert runs.reverse(205) == exact(125)


def test_back_from_a_hole_nothing_is_skipped() -> None:
    runs = known(GAPS, block(200, 210, (200, 50, 10)))
    assert runs.reverse(30) == at_least(120)


def test_back_from_the_end_before_a_hole_nothing_is_certain() -> None:
    assert known(GAPS, block(200, 210)).reverse(22) == at_least(120)


def test_back_from_between_sparse_runs_nothing_is_certain() -> None:
    runs = known(block(0, 90, (0, 0, 10), (50, 40, 10), is_sparse=True))
    assert [runs.reverse(y) for y in (5, 20, 45, 60)] == [
        exact(5),
        at_least(10),
        exact(55),
        at_least(60),
    ]


def test_behind_all_copies_the_source_is_known_to_its_last_told_offset() -> None:
    """What lies between the last copy and that was left out."""
    runs = known(GAPS, block(130, 140), block(140, 150, is_fresh=True))
    assert [runs.passed(y) for y in (21, 22, 90)] == [None, *[Passed(100, 120, 150)] * 2]
    assert known(block(5, 9)).passed(0) == Passed(5, None, 9)


@pytest.mark.parametrize(
    "blocks",
    [
        (),
        (GAPS, block(131, 140)),
        (block(0, 5), block(6, 9)),
        (block(0, 90, (0, 0, 10), is_sparse=True),),
    ],
    ids=["nothing", "a hole", "a hole without copies", "sparse runs"],
)
def test_where_copies_may_be_untold_nothing_is_passed(blocks: tuple[Block, ...]) -> None:
    assert known(*blocks).passed(1000) is None


def test_runs_that_follow_each_other_become_one() -> None:
    assert list(Runs([Run(0, 5, 3), Run(3, 8, 2), Run(5, 11, 1), Run(7, 12, 1)])) == [
        Run(0, 5, 5),
        Run(5, 11, 1),
        Run(7, 12, 1),
    ]
    assert repr(Runs([Run(0, 1, 2)])) == "Runs([Run(upstream=0, downstream=1, records=2)])"
    assert Runs() != 0


def test_a_block_that_is_cut_inside_a_run_ends_with_a_record_and_no_marker() -> None:
    runs = known(block(0, 2, (0, 0, 2), is_transactional=True), block(1, 1, is_fresh=True))
    assert [runs.reverse(y) for y in (1, 2)] == [exact(1), at_least(1)]


def of_task(block: Block, *tenure: int) -> Block:
    return replace(block, tenure=TaskTenure(*tenure))


FORMER, LATTER = (1, 4, 0, 1_000), (1, 5, 0, 2_000)


def test_a_late_block_of_a_former_task_does_not_count() -> None:
    """It was paused, and another task has the partition since."""
    runs = known(
        of_task(block(0, 10, (0, 0, 10)), *FORMER),
        of_task(block(10, 20, (10, 10, 10)), *LATTER),
    )
    late = of_task(block(0, 12, (0, 0, 12)), *FORMER)
    assert not runs.add(late)
    assert runs.exact_since == 0
    assert runs.translate(15) == exact(15)
    assert runs.add(of_task(block(20, 30, (20, 20, 10)), *LATTER))


@pytest.mark.parametrize(
    "later",
    [
        pytest.param((1, 1, 0, 3_000), id="numbers that began anew"),
        pytest.param((2, 1, 0, 500), id="a clock that is behind"),
        pytest.param(None, id="a task of an earlier release"),
    ],
)
def test_only_what_is_over_by_number_and_by_time_is_late(
    later: tuple[int, int, int, int] | None,
) -> None:
    runs = known(of_task(block(0, 10, (0, 0, 10)), *LATTER))
    new = block(10, 20, (10, 10, 10))
    assert runs.add(new if later is None else of_task(new, *later))
    assert runs.translate(15) == exact(15)


def test_the_topics_are_known_as_long_as_there_are_blocks() -> None:
    runs = known(block(0, 10, (0, 0, 10), logs=OLD))
    assert runs.logs == OLD
    runs.remove(BlockName(0))
    assert runs.logs == UNKNOWN_LOGS
