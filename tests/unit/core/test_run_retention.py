"""What need not stay in the topic of runs."""

from __future__ import annotations

from dataclasses import replace

from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.offset_translation import MappedOffset, RunStore
from mm2.core.translation.partition_runs import PartitionRuns
from mm2.core.translation.run_codec import decode_key, decode_value, encode_key, encode_value
from mm2.core.translation.run_retention import StoredRuns
from mm2.core.translation.runs import Block, BlockName, Run, Runs, TaskTenure


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
    former, latter = TaskTenure(1, 1, 0, 1), TaskTenure(1, 2, 0, 2)
    second = replace(SECOND, tenure=latter)
    found = stored(FIRST, second, replace(THIRD, tenure=latter))
    late = replace(block(10, 14, (12, 10, 2)), tenure=former)
    found.handle(late.name, late)
    assert found.due(0, 0) == [(late.name, None)]
    found.handle(late.name, None)
    assert found.due(0, 0) == []


def test_blocks_of_before_there_were_tags_stay_where_they_are() -> None:
    """Behind a block of a later tenure they would not count for whoever reads the topic next."""
    first, second = (
        replace(each, tenure=TaskTenure(1, 1, 1, number), is_tagged=False)
        for number, each in enumerate((FIRST, SECOND))
    )
    third = replace(THIRD, tenure=TaskTenure(2, 1, 1, 3))
    found = stored(first, second, third)
    assert (first.name, second.name) == (BlockName(0), BlockName(10))
    assert found.due(0, 0) == []
    assert found.due(10, 10) == gone(0)


def test_after_an_upgrade_tidying_loses_nothing_that_was_exact() -> None:
    """Whoever reads the topic afterwards, compacted, knows what was known before."""
    where, records = TopicPartition(TopicName("t"), 0), {}
    for number, each in enumerate((FIRST, SECOND)):
        value = encode_value(replace(each, tenure=TaskTenure(1, 1, 1, number)))
        records[encode_key(where, each.start)] = b"\x02" + value[1:]
    third = replace(THIRD, tenure=TaskTenure(2, 1, 1, 3))
    records[encode_key(where, *third.name)] = encode_value(third)
    for _ in range(3):
        found, known = StoredRuns(), RunStore()
        for key, value in records.items():
            name = decode_key(key)[1]
            found.handle(name, decode_value(name, value))
            known.handle(key, value)
        runs = known.of(where)
        assert runs is not None
        assert runs.exact_since == 0
        assert runs.translate(5) == MappedOffset(5, exact=True)
        for name, block_ in found.due(0, 0):
            records.pop(encode_key(where, *name), None)
            if block_ is not None:
                records[encode_key(where, *name)] = encode_value(block_)


def test_a_block_that_took_the_place_of_one_without_a_tag_outlives_it() -> None:
    former = replace(SECOND, tenure=TaskTenure(1, 1, 1, 1), is_tagged=False)
    latter = replace(SECOND, tenure=TaskTenure(2, 1, 1, 2))
    found = stored(FIRST, former, latter, THIRD)
    assert found.due(0, 0) == gone(10)
    known = PartitionRuns()
    for each in (former, latter):
        known.add(each)
    known.remove(former.name)
    assert known.blocks == [latter]


def test_a_block_without_a_tag_can_be_taken_back() -> None:
    known = PartitionRuns()
    former = replace(FIRST, tenure=TaskTenure(1, 1, 1, 1), is_tagged=False)
    known.add(former)
    known.remove(BlockName(0))
    assert known.blocks == []
