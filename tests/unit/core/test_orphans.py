"""When a topic counts as gone."""

from __future__ import annotations

from mm2.core.model import TopicName
from mm2.core.orphans import Absences

T, U = TopicName("t"), TopicName("u")


def test_a_topic_is_gone_after_three_looks_and_the_grace() -> None:
    absences = Absences(10)
    assert [absences.look({T}, now) for now in (0, 5, 9.9, 10)] == [[], [], [], [T]]


def test_time_alone_does_not_make_a_topic_gone() -> None:
    absences = Absences(10)
    assert [absences.look({T}, now) for now in (0, 100, 200)] == [[], [], [T]]


def test_a_topic_that_was_there_in_between_counts_anew() -> None:
    absences = Absences(0)
    looks = [{T, U}, {T, U}, {U}, {T, U}, {T}]
    assert [absences.look(missing, 0) for missing in looks] == [[], [], [U], [U], []]
