"""Whether each partition of a group's topics has one owner."""

from __future__ import annotations

from mm2.core.model import TopicName, TopicPartition
from mm2.core.verification.partition_owners import partition_owners

_T = [TopicPartition(TopicName("t"), number) for number in range(4)]


def test_owners_are_counted_for_each_partition() -> None:
    found = partition_owners(_T[:3], {"a": [_T[0], _T[1]], "b": [_T[1], _T[3]]})
    assert [(each.where.partition, each.owners, each.ownership) for each in found] == [
        (0, ("a",), "one"),
        (1, ("a", "b"), "several"),
        (2, (), "none"),
        (3, ("b",), "no such partition"),
    ]


def test_who_has_a_partition_may_be_no_member_any_more() -> None:
    found = partition_owners(_T[:3], {"a": [_T[0]], "b": [_T[1], _T[2]], "c": [_T[2]]}, {"a", "c"})
    assert [each.ownership for each in found] == ["one", "no member", "no member"]
