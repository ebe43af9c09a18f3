"""How a task cuts its runs into blocks."""

from __future__ import annotations

from uuid import UUID

from mm2.core.translation.run_tracker import RunTracker
from mm2.core.translation.runs import Block, Logs, Run

LOGS = Logs(UUID(int=1), UUID(int=2))
OTHERS = Logs(UUID(int=1), UUID(int=3))


def tracker(start: int = 0, *, full: int = 3) -> RunTracker:
    found = RunTracker(full=full)
    found.begin(start)
    found.take()
    return found


def add(runs: RunTracker, *added: tuple[int, int, int], logs: Logs = LOGS) -> None:
    for each in added:
        runs.add(Run(*each), logs)


def shown(blocks: list[Block]) -> list[tuple[int, int, list[tuple[int, ...]]]]:
    return [(block.start, block.end, [tuple(run) for run in block.runs]) for block in blocks]


def test_a_task_says_at_once_where_it_begins() -> None:
    runs = RunTracker()
    assert runs.take() == []
    runs.begin(7)
    (block,) = runs.take()
    assert (block.start, block.end, len(block.runs), block.is_fresh) == (7, 7, 0, True)
    assert runs.take() == []


def test_batches_that_follow_each_other_are_one_run() -> None:
    runs = tracker(5)
    add(runs, (5, 100, 10), (15, 110, 5))
    assert shown(runs.take()) == [(5, 20, [(5, 100, 15)])]
    add(runs, (20, 115, 1))
    assert shown(runs.take()) == [(5, 21, [(5, 100, 16)])]
    assert runs.take() == []


def test_what_was_passed_over_is_told_too() -> None:
    runs = tracker()
    add(runs, (0, 0, 5))
    runs.cover(9)
    runs.cover(3)
    assert shown(runs.take()) == [(0, 9, [(0, 0, 5)])]
    unused = RunTracker()
    unused.cover(9)
    assert unused.take() == []


def test_a_full_block_is_followed_by_another_that_meets_it() -> None:
    runs = tracker(full=2)
    add(runs, (0, 0, 1), (2, 1, 1), (3, 2, 1), (9, 3, 1))
    first, second = runs.take()
    assert shown([first, second]) == [
        (0, 9, [(0, 0, 1), (2, 1, 2)]),
        (9, 10, [(9, 3, 1)]),
    ]
    assert (first.is_fresh, second.is_fresh) == (True, False)


def test_a_full_block_that_was_written_whole_is_not_written_again() -> None:
    runs = tracker(full=1)
    add(runs, (0, 0, 1))
    runs.cover(5)
    assert shown(runs.take()) == [(0, 5, [(0, 0, 1)])]
    add(runs, (5, 1, 1))
    assert shown(runs.take()) == [(5, 6, [(5, 1, 1)])]


def test_going_back_begins_a_block_of_its_own() -> None:
    runs = tracker()
    add(runs, (0, 0, 10), (4, 20, 3))
    assert shown(runs.take()) == [(0, 10, [(0, 0, 10)]), (4, 7, [(4, 20, 3)])]


def test_a_remote_log_that_goes_back_begins_a_block_of_its_own() -> None:
    runs = tracker()
    add(runs, (0, 50, 10), (10, 40, 3))
    assert shown(runs.take()) == [(0, 10, [(0, 50, 10)]), (10, 13, [(10, 40, 3)])]


def test_other_topics_begin_a_block_of_their_own() -> None:
    runs = tracker()
    add(runs, (0, 50, 10))
    add(runs, (10, 60, 3), logs=OTHERS)
    assert [block.logs for block in runs.take()] == [LOGS, OTHERS]


def test_records_at_unknown_places_are_between_two_blocks() -> None:
    runs = tracker()
    add(runs, (0, 50, 10))
    runs.lose(12, 15)
    add(runs, (15, 70, 1))
    assert shown(runs.take()) == [(0, 12, [(0, 50, 10)]), (15, 16, [(15, 70, 1)])]
    unused = RunTracker()
    unused.lose(3, 5)
    assert shown(unused.take()) == [(5, 5, [])]


def test_a_tracker_that_never_began_begins_with_the_first_run() -> None:
    runs = RunTracker(is_transactional=True)
    add(runs, (3, 50, 10))
    (block,) = runs.take()
    assert (block.start, block.end, block.is_transactional) == (3, 13, True)


def test_what_could_not_be_written_is_written_later_in_order() -> None:
    runs = tracker(full=1)
    add(runs, (0, 0, 1), (2, 1, 1))
    taken = runs.take()
    add(runs, (4, 2, 1))
    runs.give_back(taken[:1])
    assert [block.start for block in runs.take()] == [0, 2, 4]
    taken = runs.take()
    assert taken == []
    add(runs, (5, 3, 2))
    taken = runs.take()
    runs.give_back(taken)
    assert runs.take() == taken


def test_of_blocks_that_cannot_be_written_only_some_are_remembered() -> None:
    runs = tracker(full=1)
    add(runs, *((2 * n, n, 1) for n in range(1_000)))
    taken = runs.take()
    assert [taken[0].start, taken[-1].start, len(taken)] == [1486, 1998, 257]
    runs.give_back(taken)
    assert len(runs.take()) == 257
    assert runs.given_up == 743


def test_a_block_that_has_hardly_grown_can_wait() -> None:
    runs = tracker(full=100)
    written = 0
    for n in range(100):
        add(runs, (2 * n, n, 1))
        written += len(runs.take(grown=True))
    assert written == 20
    add(runs, (200, 100, 1))
    assert runs.take(grown=True), "it is full"
    add(runs, (202, 101, 1))
    assert runs.take(grown=True), "few runs cost nothing, and nobody waits for them"


def test_what_can_wait_is_not_forgotten() -> None:
    runs = tracker(full=100)
    add(runs, *((2 * n, n, 1) for n in range(50)))
    runs.take()
    add(runs, (100, 50, 1))
    assert runs.take(grown=True) == []
    (block,) = runs.take()
    assert len(block.runs) == 51
    runs.give_back([block])
    assert runs.take(grown=True) == [block]
