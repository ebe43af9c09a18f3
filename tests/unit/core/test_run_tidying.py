"""What need not stay in the topic of runs."""

from __future__ import annotations

from dataclasses import replace

from mm2.core.run_tidying import StoredRuns
from mm2.core.runs import Block, BlockName, Run, Runs, Term


def block(start: int, end: int, *runs: tuple[int, int, int]) -> Block:
    return Block(start, end, Runs(Run(*run) for run in runs))


def stored(*blocks: Block, most: int = 1000) -> StoredRuns:
    found = StoredRuns(most)
    for each in blocks:
        found.handle(each.name, each)
    return found


def gone(*starts: int) -> list[tuple[BlockName, None]]:
    return [(BlockName(start), None) for start in starts]


FIRST, SECOND, THIRD = (
    block(0, 10, (0, 0, 10)),
    block(10, 20, (12, 10, 8)),
    block(20, 30, (20, 18, 10)),
)


def test_blocks_stay_while_one_of_the_logs_has_their_records() -> None:
    found = stored(FIRST, SECOND, THIRD)
    assert found.due(0, 0) == []
    assert found.due(15, 100) == gone(0)
    assert found.due(100, 15) == gone(0)
    assert StoredRuns().due(100, 100) == []


def test_the_newest_block_stays_in_any_case() -> None:
    found = stored(FIRST, block(10, 11), SECOND, THIRD)
    assert found.due(100, 100) == gone(0, 10)


def test_replaced_blocks_go_unless_they_may_come_again() -> None:
    again = block(5, 8, (5, 40, 3))
    found = stored(FIRST, block(3, 4, (3, 30, 1)), SECOND, again)
    found.handle(BlockName(3), None)
    assert found.due(0, 0) == []
    later = block(30, 33, (30, 43, 3))
    found.handle(later.name, later)
    assert found.due(0, 0) == gone(10)


def test_a_tombstone_is_not_written_twice() -> None:
    found = stored(FIRST, SECOND, THIRD)
    found.handle(BlockName(0), None)
    assert found.due(100, 15) == []
    found.handle(BlockName(7), None)


def test_what_became_sparse_is_written_once_and_its_parts_go() -> None:
    runs = [
        block(10 * n, 10 * n + 10, (10 * n, 9 * n, 5), (10 * n + 6, 9 * n + 5, 4)) for n in range(6)
    ]
    found = stored(*runs, most=12)
    (name, sparse), *rest = found.due(0, 0)
    assert name == BlockName(0)
    assert sparse is not None
    assert sparse.is_sparse
    assert rest == gone(*range(10, sparse.end, 10))
    for each in ((name, sparse), *rest):
        found.handle(*each)
    assert found.due(0, 0) == []


def test_a_late_block_of_a_former_task_goes_and_the_one_of_its_start_stays() -> None:
    """They have different names: compaction takes neither for the other."""
    former, latter = Term(1, 1, 0, 1), Term(1, 2, 0, 2)
    second = replace(SECOND, term=latter)
    found = stored(FIRST, second, replace(THIRD, term=latter))
    late = replace(block(10, 14, (12, 10, 2)), term=former)
    found.handle(late.name, late)
    assert found.due(0, 0) == [(late.name, None)]
    found.handle(late.name, None)
    assert found.due(0, 0) == []


def test_blocks_of_before_there_were_tags_are_written_under_their_new_names() -> None:
    second = replace(SECOND, term=Term(1, 2, 0, 2))
    found = stored(FIRST, THIRD)
    found.handle(BlockName(10), second)
    found.handle(THIRD.name, THIRD)
    assert found.due(0, 0) == [(second.name, second), *gone(10)]
