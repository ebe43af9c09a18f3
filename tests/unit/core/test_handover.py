"""Partitions change hands only when their bundle has let go of them."""

from __future__ import annotations

from mm2.core.balancing.partition_handover import Handover
from mm2.core.model import TopicName, TopicPartition

A, B, C = (TopicPartition(TopicName(name), 0) for name in "abc")


def test_new_partitions_are_given_at_once() -> None:
    handover = Handover()
    assert handover.converge([[A], [B]]) == {0, 1}
    assert (handover.held, handover.generation) == ([{A}, {B}], 1)


def test_a_partition_is_given_on_when_its_bundle_has_carried_out_the_loss() -> None:
    handover = Handover()
    handover.converge([[A, B], []])
    assert handover.converge([[A], [B]]) == {0}
    assert (handover.held, handover.is_pending) == ([{A}, set()], True)
    assert not handover.carried_out(0, 1)
    assert not handover.carried_out(1, 9)
    assert handover.carried_out(0, 2)
    assert handover.converge([[A], [B]]) == {1}
    assert (handover.held, handover.is_pending) == ([{A}, {B}], False)


def test_nothing_is_told_when_nothing_changes() -> None:
    handover = Handover()
    handover.converge([[A], [B]])
    assert handover.converge([[A], [B]]) == set()
    assert handover.generation == 1


def test_a_partition_may_go_back_where_it_comes_from_at_once() -> None:
    handover = Handover()
    handover.converge([[A], []])
    handover.converge([[], [A]])
    assert handover.converge([[A], []]) == {0}
    assert (handover.held, handover.is_pending) == ([{A}, set()], False)


def test_others_do_not_wait_for_a_partition_that_moves() -> None:
    handover = Handover()
    handover.converge([[A], []])
    assert handover.converge([[], [A, C]]) == {0, 1}
    assert handover.held == [set(), {C}]


def test_bundles_that_are_not_wanted_any_more_lose_everything() -> None:
    handover = Handover()
    handover.converge([[A], [B]])
    assert handover.converge([[A]]) == {1}
    assert handover.held == [{A}, set()]


def test_a_bundle_is_empty_once_it_has_carried_out_that_it_lost_everything() -> None:
    handover = Handover()
    handover.converge([[A], [B]])
    handover.converge([[A, B]])
    assert [handover.is_empty(0), handover.is_empty(1)] == [False, False]
    handover.carried_out(1, 2)
    assert handover.is_empty(1)
