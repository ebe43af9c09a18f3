"""Which of two commits of a group is the later one (``tests/property`` has random histories)."""

from __future__ import annotations

import pytest

from mm2.core.internal_records import Checkpoint
from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.core.translation.group_sync_rules import (
    Order,
    TargetCommit,
    compared,
    is_echo,
    may_be_given,
    new_target_commit,
    order_of,
)

WHERE = TopicPartition(TopicName("t"), 0)


def told(up: int, down: int, target_commit: TargetCommit | None = None) -> Checkpoint:
    return Checkpoint(GroupId("g"), WHERE, up, down, target_commit=target_commit)


@pytest.mark.parametrize(
    ("target_commit", "text"),
    [
        (TargetCommit(Order.GIVEN, (40, -1)), b"given 40 -1"),
        (TargetCommit(Order.LATER, (50,), is_confirmed=True), b"later 50 settled"),
    ],
)
def test_what_stands_on_the_target_is_a_header_of_the_checkpoint(
    target_commit: TargetCommit, text: bytes
) -> None:
    written = told(10, 5, target_commit)
    assert written.headers()[-1] == ("mm2.target.commit", text)
    read = Checkpoint.decode(written.key(), written.value(), written.headers())
    assert read.target_commit == target_commit


@pytest.mark.parametrize("text", [None, b"", b"given x", b"since 4", b"\xff"])
def test_another_header_says_nothing(text: bytes | None) -> None:
    assert TargetCommit.decode(text) is None


def test_without_a_header_groups_go_forward_only_as_javas_do() -> None:
    """C301, C307."""
    assert may_be_given(told(10, 5), None)
    assert may_be_given(told(10, 5), 4)
    assert not may_be_given(told(10, 5), 6)


@pytest.mark.parametrize(
    ("order", "forward", "back"),
    [
        (Order.GIVEN, True, True),
        (Order.EARLIER, True, False),
        (Order.UNKNOWN, True, False),
        (Order.UNSURE, False, False),
        (Order.LATER, False, False),
    ],
)
def test_nobodys_later_commit_is_overruled(order: Order, *, forward: bool, back: bool) -> None:
    assert may_be_given(told(10, 5, TargetCommit(order, (4,))), 4) is forward
    assert may_be_given(told(10, 5, TargetCommit(order, (6,))), 6) is back
    assert not may_be_given(told(10, 5, TargetCommit(order, (4,))), 3), "committed since"


def test_what_was_given_is_known_until_something_else_was() -> None:
    """Also what may have been given a moment ago."""
    first = told(10, 5, new_target_commit(None, 10, None))
    second = told(20, 9, new_target_commit(first, 20, None))
    third = told(4, 2, new_target_commit(second, 4, 5))
    for offset in (None, 5, 9, 2):
        assert order_of(third, offset) is Order.GIVEN
    assert order_of(third, 7) is Order.LATER


def test_what_the_opposite_flow_gave_is_an_echo_until_the_group_has_come_back() -> None:
    away = told(80, 20, TargetCommit(Order.GIVEN, (20,)))
    assert is_echo(20, away, None)
    assert not is_echo(21, away, None)
    assert not is_echo(20, None, None)
    back = told(30, 90, TargetCommit(Order.EARLIER, (80,)))
    assert not is_echo(20, away, back), "set back to where it had come back to"


@pytest.mark.parametrize(
    ("current", "order"), [(90, Order.UNSURE), (100, Order.EARLIER), (110, Order.UNSURE)]
)
def test_what_was_committed_since_the_opposite_flow_told_of_it_may_be_later(
    current: int, order: Order
) -> None:
    opposite = told(100, 100, TargetCommit(Order.LATER, (300,)))
    assert compared(None, opposite, 300, current) == (order, False)


@pytest.mark.parametrize("current", [90, 110])
def test_what_was_committed_after_the_opposite_flow_had_seen_both_is_later(current: int) -> None:
    opposite = told(100, 100, TargetCommit(Order.LATER, (300,), is_confirmed=True))
    assert compared(None, opposite, 300, current) == (Order.LATER, False)
    assert compared(None, opposite, 310, current) == (Order.UNSURE, False), "both went on since"
