"""When a topic counts as gone."""

from __future__ import annotations

from mm2.core.model import TopicName, TopicPartition
from mm2.core.topics.missing_topics import Absences, MissedOnce

T, U = TopicName("t"), TopicName("u")


def test_a_topic_is_gone_after_three_looks_and_the_grace() -> None:
    absences = Absences(10)
    assert [absences.update({T}, now) for now in (0, 5, 9.9, 10)] == [[], [], [], [T]]


def test_time_alone_does_not_make_a_topic_gone() -> None:
    absences = Absences(10)
    assert [absences.update({T}, now) for now in (0, 100, 200)] == [[], [], [T]]


def test_a_topic_that_was_there_in_between_counts_anew() -> None:
    absences = Absences(0)
    looks = [{T, U}, {T, U}, {U}, {T, U}, {T}]
    assert [absences.update(missing, 0) for missing in looks] == [[], [], [U], [U], []]


_FIRST, _SECOND = (TopicPartition(TopicName(name), 0) for name in ("first", "second"))
_BOTH = {_FIRST: TopicName("A.first"), _SECOND: TopicName("A.second")}


def test_what_one_look_misses_is_kept_until_the_next_misses_it_too() -> None:
    missed = MissedOnce()
    assert missed.update(_BOTH, {_FIRST: TopicName("A.first")}) == _BOTH
    assert missed.is_any
    assert missed.update(_BOTH, {_FIRST: TopicName("A.first")}) == {_FIRST: "A.first"}
    assert not missed.is_any


def test_what_is_found_again_must_be_missed_twice_again() -> None:
    missed = MissedOnce()
    for _ in range(3):
        assert missed.update(_BOTH, {}) == _BOTH
        assert missed.update(_BOTH, _BOTH) == _BOTH
    assert not missed.is_any


def test_what_is_new_or_another_counts_at_once() -> None:
    missed = MissedOnce()
    assert missed.update({}, _BOTH) == _BOTH
    others = {_FIRST: TopicName("B.first")}
    assert missed.update(_BOTH, others) == {**others, _SECOND: "A.second"}
