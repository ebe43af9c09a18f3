"""What need not stay in the topic of runs."""

from __future__ import annotations

from dataclasses import replace

from mm2.core.run_tidying import StoredRuns
from mm2.core.runs import Block, Run, Runs, Term


def block(start: int, end: int, *runs: tuple[int, int, int]) -> Block:
    return Block(start, end, Runs(Run(*run) for run in runs))


def stored(*blocks: Block, most: int = 1000) -> StoredRuns:
    found = StoredRuns(most)
    for each in blocks:
        found.handle(each.start, each)
    return found


FIRST, SECOND, THIRD = (
    block(0, 10, (0, 0, 10)),
    block(10, 20, (12, 10, 8)),
    block(20, 30, (20, 18, 10)),
)


def test_blocks_stay_while_one_of_the_logs_has_their_records() -> None:
    found = stored(FIRST, SECOND, THIRD)
    assert found.due(0, 0) == []
    assert found.due(15, 100) == [(0, None)]
    assert found.due(100, 15) == [(0, None)]
    assert StoredRuns().due(100, 100) == []


def test_the_newest_block_stays_in_any_case() -> None:
    found = stored(FIRST, block(10, 11), SECOND, THIRD)
    assert found.due(100, 100) == [(0, None), (10, None)]


def test_replaced_blocks_go_unless_they_may_come_again() -> None:
    again = block(5, 8, (5, 40, 3))
    found = stored(FIRST, block(3, 4, (3, 30, 1)), SECOND, again)
    found.handle(3, None)
    assert found.due(0, 0) == []
    later = block(30, 33, (30, 43, 3))
    found.handle(30, later)
    assert found.due(0, 0) == [(10, None)]


def test_a_tombstone_is_not_written_twice() -> None:
    found = stored(FIRST, SECOND, THIRD)
    found.handle(0, None)
    assert found.due(100, 15) == []
    found.handle(7, None)


def test_what_became_sparse_is_written_once_and_its_parts_go() -> None:
    runs = [
        block(10 * n, 10 * n + 10, (10 * n, 9 * n, 5), (10 * n + 6, 9 * n + 5, 4)) for n in range(6)
    ]
    found = stored(*runs, most=12)
    (start, sparse), *gone = found.due(0, 0)
    assert start == 0
    assert sparse is not None
    assert sparse.is_sparse
    assert [number for number, _ in gone] == list(range(10, sparse.end, 10))
    for number, each in ((start, sparse), *gone):
        found.handle(number, each)
    assert found.due(0, 0) == []


def test_a_block_that_a_late_one_has_replaced_in_the_topic_is_written_again() -> None:
    """Compaction would leave the late one, which nobody believes: a hole."""
    former, latter = Term(1, 1, 0, 1), Term(1, 2, 0, 2)
    second = replace(SECOND, term=latter)
    found = stored(FIRST, second, replace(THIRD, term=latter))
    late = replace(block(10, 14, (12, 10, 2)), term=former)
    found.handle(10, late)
    assert found.due(0, 0) == [(10, second)]
    found.handle(10, second)
    assert found.due(0, 0) == []
    found.handle(10, late)
    found.handle(10, None)
    assert found.due(0, 0) == []
