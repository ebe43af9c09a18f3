"""What an instance may say of a log partition that it leads, loads, or has lost."""

from __future__ import annotations

import pytest

from mm2.core.model import TopicName, TopicPartition
from mm2.core.offset_manager.commits import OffsetError, StoredOffset
from mm2.core.offset_manager.committed_offset_records import OffsetKey
from mm2.core.offset_manager.log_partition import Confirmation, LogPartition, LogRole
from mm2.core.offset_manager.offset_table import OffsetTable

WHERE = TopicPartition(TopicName("t"), 0)
KEY = OffsetKey("g", WHERE)


def stored(offset: int) -> StoredOffset:
    return StoredOffset(offset=offset, commit_ms=0)


def errors(partition: LogPartition) -> tuple[OffsetError, OffsetError]:
    return partition.commit_error, partition.fetch_error


@pytest.fixture
def leading() -> LogPartition:
    partition = LogPartition()
    partition.take(10)
    partition.load(KEY, stored(1), 4)
    partition.loaded()
    return partition


def test_nothing_is_answered_by_who_does_not_lead() -> None:
    partition = LogPartition()
    assert partition.commit_error is OffsetError.NOT_COORDINATOR
    assert partition.fetch_error is OffsetError.NOT_COORDINATOR


def test_clients_of_an_instance_that_is_to_lead_wait_and_go_nowhere_else() -> None:
    partition = LogPartition()
    partition.claim()
    assert errors(partition) == (OffsetError.COORDINATOR_LOAD_IN_PROGRESS,) * 2
    partition.lose()
    assert errors(partition) == (OffsetError.NOT_COORDINATOR,) * 2


def test_commits_are_taken_and_fetches_are_not_while_the_log_is_loaded() -> None:
    partition = LogPartition()
    partition.take(10)
    assert errors(partition) == (OffsetError.NONE, OffsetError.COORDINATOR_LOAD_IN_PROGRESS)
    assert partition.appended(10, [(KEY, stored(7))])
    partition.load(KEY, stored(3), 2)
    partition.loaded()
    assert errors(partition) == (OffsetError.NONE, OffsetError.NONE)
    assert partition.table.fetch("g", None) == {WHERE: stored(7)}


def test_a_batch_that_stands_elsewhere_counts_not_and_the_partition_is_lost(
    leading: LogPartition,
) -> None:
    term = leading.term
    assert not leading.appended(11, [(KEY, stored(7))])
    assert leading.role is LogRole.FOLLOWING
    assert leading.term > term
    assert len(leading.table) == 0


def test_an_answer_after_the_partition_was_lost_counts_not(leading: LogPartition) -> None:
    leading.lose()
    assert not leading.appended(10, [(KEY, stored(7))])
    assert leading.commit_error is OffsetError.NOT_COORDINATOR


def test_what_was_known_in_a_former_term_is_forgotten(leading: LogPartition) -> None:
    leading.lose()
    leading.take(20)
    leading.loaded()
    assert leading.table.fetch("g", None) == {}


def test_the_end_of_the_log_tells_whether_the_knowledge_is_complete(leading: LogPartition) -> None:
    assert leading.confirm(10, 10, is_appending=False) is Confirmation.CURRENT
    assert leading.confirm(10, 10, is_appending=True) is Confirmation.CURRENT
    assert leading.confirm(10, 11, is_appending=True) is Confirmation.WAITING
    assert leading.confirm(10, 11, is_appending=False) is Confirmation.OVERTAKEN
    assert leading.confirm(10, 9, is_appending=False) is Confirmation.OVERTAKEN
    assert leading.appended(10, [(KEY, stored(7))])
    assert leading.confirm(10, 10, is_appending=False) is Confirmation.CURRENT


def test_a_tombstone_deletes_an_offset_and_the_rest_of_the_table_is_not_looked_at(
    leading: LogPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(OffsetTable, "forget_tombstones")
    assert leading.appended(10, [(KEY, None)])
    assert leading.table.groups() == []
    assert leading.table.fetch("g", None) == {}
    assert leading.next_offset == 11
