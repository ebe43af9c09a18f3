"""What expires, found in pieces while groups go on committing."""

from __future__ import annotations

import pytest

from mm2.core.model import TopicName, TopicPartition
from mm2.core.offset_manager.commits import StoredOffset
from mm2.core.offset_manager.committed_offset_records import OffsetKey
from mm2.core.offset_manager.expiry import Expiry
from mm2.core.offset_manager.offset_table import OffsetTable

HERE, THERE = (TopicPartition(TopicName("t"), n) for n in range(2))
OLD, NEW = StoredOffset(1, commit_ms=0), StoredOffset(2, commit_ms=90)
NOW_MS = RETENTION_MS = 100


def table_of(**groups: dict[TopicPartition, StoredOffset]) -> OffsetTable:
    table = OffsetTable()
    for group, offsets in groups.items():
        table.apply_all([(OffsetKey(group, where), each) for where, each in offsets.items()], 0)
    return table


def search(table: OffsetTable) -> Expiry:
    return Expiry(table, NOW_MS, RETENTION_MS)


def test_dead_groups_are_deleted_and_the_search_is_over() -> None:
    expiry = search(table_of(lives={HERE: OLD, THERE: NEW}, dead={HERE: OLD, THERE: OLD}))
    expiry.look()
    keys = list(expiry.to_delete())
    assert keys == [OffsetKey("dead", HERE), OffsetKey("dead", THERE)]
    expiry.applied([(keys[0], None)])
    assert list(expiry.to_delete()) == keys[1:]
    assert not expiry.is_over
    expiry.applied([(keys[1], None)])
    assert expiry.is_over


def test_a_group_that_commits_meanwhile_keeps_all_of_its_offsets() -> None:
    expiry = search(table_of(back={HERE: OLD, THERE: OLD}, dead={HERE: OLD}))
    expiry.look()
    expiry.applied([(OffsetKey("back", THERE), NEW), (OffsetKey("other", HERE), NEW)])
    assert list(expiry.to_delete()) == [OffsetKey("dead", HERE)]


def test_one_piece_of_the_search_looks_at_some_groups_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[str] = []
    table = table_of(**{f"g{n}": {HERE: NEW, THERE: NEW} for n in range(2_000)})

    def expired(_: OffsetTable, group: str, *_times: int) -> list[TopicPartition]:
        looked.append(group)
        return []

    monkeypatch.setattr(OffsetTable, "expired", expired)
    expiry = search(table)
    while not expiry.is_over:
        before = len(looked)
        expiry.look()
        assert len(looked) - before < 1_000
    assert looked == table.groups()


def test_no_more_is_looked_for_than_some_batches_delete() -> None:
    groups = {f"g{n}": {HERE: OLD} for n in range(50_000)}
    expiry = search(table_of(**groups))
    deleted: list[OffsetKey] = []
    while not expiry.is_over:
        expiry.look()
        if found := list(expiry.to_delete()):
            assert len(found) <= 20_000
            expiry.applied([(each, None) for each in found])
            deleted += found
    assert [each.group for each in deleted] == list(groups)
