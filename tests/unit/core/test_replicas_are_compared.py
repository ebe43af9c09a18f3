"""What replicas have that they should not, or lack."""

from __future__ import annotations

import pytest

from mm2.core.verification.replica_comparison import (
    LogEntry,
    ReplicaDifference,
    ReplicaFault,
    corrupt_entries,
    replica_differences,
)

_LEADER = [LogEntry(0, 4, 10), LogEntry(5, 5, 11), LogEntry(6, 9, 12)]


def _found(replica: list[LogEntry], *, is_compacted: bool = False) -> list[ReplicaDifference]:
    return replica_differences(_LEADER, replica, 0, 10, is_compacted=is_compacted)


def test_the_same_batches_are_no_difference() -> None:
    assert _found(list(_LEADER)) == []


def test_each_kind_of_difference_has_its_name_and_its_offsets() -> None:
    altered = [_LEADER[0], LogEntry(5, 5, 99), _LEADER[2]]
    assert _found(altered) == [ReplicaDifference(5, 5, ReplicaFault.ALTERED)]
    longer = [_LEADER[0], LogEntry(5, 6, 11), _LEADER[2]]
    assert _found(longer) == [ReplicaDifference(5, 6, ReplicaFault.ALTERED)]
    assert _found(_LEADER[1:]) == [ReplicaDifference(0, 4, ReplicaFault.MISSING)]
    added = [_LEADER[0], LogEntry(4, 4, 7), *_LEADER[1:]]
    assert _found(added) == [ReplicaDifference(4, 4, ReplicaFault.ADDED)]
    corrupt = [*_LEADER[:2], LogEntry(6, 9, 12, is_valid=False)]
    assert _found(corrupt) == [ReplicaDifference(6, 9, ReplicaFault.CORRUPT)]


@pytest.mark.parametrize("last", [2**31 - 1, -1])
def test_a_corrupt_batch_is_found_whatever_its_last_offset_says(last: int) -> None:
    damaged = LogEntry(5, last, 11, is_valid=False)
    found = [ReplicaDifference(5, last, ReplicaFault.CORRUPT)]
    assert corrupt_entries([damaged], 0, 10) == found
    assert corrupt_entries([damaged], 6, 10) == []
    assert _found([_LEADER[0], damaged, _LEADER[2]]) == found


def test_a_batch_that_is_corrupt_at_the_leader_is_not_held_against_replicas() -> None:
    leader = [LogEntry(0, 4, 99, is_valid=False)]
    replica = [LogEntry(0, 4, 10)]
    assert replica_differences(leader, replica, 0, 5, is_compacted=False) == []


def test_only_what_ends_between_the_offsets_is_compared() -> None:
    replica = [LogEntry(0, 4, 99), LogEntry(5, 5, 11)]
    assert replica_differences(_LEADER, replica, 5, 9, is_compacted=False) == []


def test_compacted_replicas_may_lack_records_but_not_have_others() -> None:
    assert _found(_LEADER[1:], is_compacted=True) == []
    assert _found([LogEntry(6, 9, 99)], is_compacted=True) == [
        ReplicaDifference(6, 9, ReplicaFault.ALTERED)
    ]
