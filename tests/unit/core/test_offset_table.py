"""The table of an offset manager: the log's order decides, tombstones, and what expires."""

from __future__ import annotations

from mm2.core.model import TopicName, TopicPartition
from mm2.core.offset_manager.commits import StoredOffset
from mm2.core.offset_manager.committed_offset_records import OffsetKey
from mm2.core.offset_manager.offset_table import OffsetTable

HERE, THERE = (TopicPartition(TopicName("t"), n) for n in range(2))


def stored(offset: int, commit_ms: int = 0, expire_ms: int | None = None) -> StoredOffset:
    return StoredOffset(offset=offset, commit_ms=commit_ms, expire_ms=expire_ms)


def test_the_later_record_of_the_log_counts_whichever_is_applied_first() -> None:
    table = OffsetTable()
    table.apply(OffsetKey("g", HERE), stored(20), 9)
    table.apply(OffsetKey("g", HERE), stored(10), 3)
    assert table.fetch("g", None) == {HERE: stored(20)}
    table.apply(OffsetKey("g", HERE), stored(5), 10)
    assert table.fetch("g", [HERE, THERE]) == {HERE: stored(5)}


def test_a_tombstone_deletes_and_holds_against_older_records() -> None:
    table = OffsetTable()
    table.apply(OffsetKey("g", HERE), None, 9)
    table.apply(OffsetKey("g", HERE), stored(10), 3)
    assert table.fetch("g", None) == {}
    assert len(table) == 0
    table.forget_tombstones()
    table.apply(OffsetKey("g", HERE), stored(11), 12)
    assert table.fetch("g", None) == {HERE: stored(11)}


def test_what_a_batch_deletes_is_dropped_and_nothing_else() -> None:
    table = OffsetTable()
    keys = [OffsetKey("g", HERE), OffsetKey("g", THERE), OffsetKey("h", HERE)]
    changes = [(keys[0], None), (keys[1], stored(2)), (keys[2], None)]
    table.apply_all(changes, 0)
    table.forget_deleted(changes)
    assert table.groups() == ["g"]
    assert table.size_of("g") == 1
    table.forget_deleted([(keys[1], None), (keys[2], None)])
    assert table.fetch("g", None) == {THERE: stored(2)}


def test_other_groups_and_partitions_have_offsets_of_their_own() -> None:
    table = OffsetTable()
    table.apply(OffsetKey("g", HERE), stored(1), 0)
    table.apply(OffsetKey("g", THERE), stored(2), 1)
    table.apply(OffsetKey("h", HERE), stored(3), 2)
    assert table.fetch("g", [THERE]) == {THERE: stored(2)}
    assert table.fetch("h", None) == {HERE: stored(3)}
    assert table.fetch("nobody", None) == {}
    assert len(table) == 3
    table.clear()
    assert len(table) == 0


def test_all_offsets_of_a_group_expire_together_once_it_is_dead() -> None:
    table = OffsetTable()
    table.apply(OffsetKey("lives", HERE), stored(1, commit_ms=0), 0)
    table.apply(OffsetKey("lives", THERE), stored(2, commit_ms=90), 1)
    table.apply(OffsetKey("dead", HERE), stored(3, commit_ms=0), 2)
    assert [table.expired(each, 99, 100) for each in ("lives", "dead", "unknown")] == [[], [], []]
    assert [table.expired(each, 100, 100) for each in ("lives", "dead")] == [[], [HERE]]
    assert table.expired("lives", 190, 100) == [HERE, THERE]


def test_an_offset_with_a_time_of_its_own_expires_then() -> None:
    table = OffsetTable()
    table.apply(OffsetKey("g", HERE), stored(1, commit_ms=0, expire_ms=50), 0)
    table.apply(OffsetKey("g", THERE), stored(2, commit_ms=0, expire_ms=500), 1)
    assert table.expired("g", 50, 10) == [HERE]
