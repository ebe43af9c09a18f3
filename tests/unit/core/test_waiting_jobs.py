"""Jobs of a Spark cluster that wait for executors, and what comes of it."""

from __future__ import annotations

from functools import partial

from mm2.core.balancing.waiting_jobs import PATIENCE_S, RestartRule, WaitingJobs


def test_a_job_waits_too_long_once_it_has_had_no_task_for_all_of_the_time() -> None:
    waiting = WaitingJobs()
    both = {"a", "b"}
    assert waiting.look(0, submitted=both, running={"a"}, executors=1) == []
    assert waiting.look(PATIENCE_S - 1, submitted=both, running={"a"}, executors=1) == []
    assert waiting.look(PATIENCE_S, submitted=both, running={"a"}, executors=1) == ["b"]


def test_a_job_that_ran_in_between_or_was_submitted_again_waits_anew() -> None:
    waiting = WaitingJobs()
    waiting.look(0, submitted={"a", "b"}, running=(), executors=1)
    waiting.look(10, submitted={"a"}, running={"a"}, executors=1)
    assert waiting.look(PATIENCE_S, submitted={"a", "b"}, running=(), executors=1) == []
    assert waiting.look(2 * PATIENCE_S, submitted={"a", "b"}, running=(), executors=1) == ["a", "b"]


def test_jobs_wait_anew_when_executors_come_and_not_when_those_that_were_lost_come_back() -> None:
    waiting = WaitingJobs()
    look = partial(waiting.look, submitted={"a", "b"})
    look(0, running=(), executors=0)
    assert look(PATIENCE_S, running={"a"}, executors=1) == []
    look(20, running={"a"}, executors=0)
    look(25, running={"a"}, executors=1)
    assert look(2 * PATIENCE_S, running={"a"}, executors=1) == ["b"]


def _restarts(rule: RestartRule, until: int, *, executors: int = 0) -> list[int]:
    return [now for now in range(until) if rule.look(now, waits=True, executors=executors)]


def test_an_application_that_has_lost_all_executors_is_made_anew_and_then_ever_less_often() -> None:
    rule = RestartRule()
    assert not rule.look(0, waits=False, executors=2)
    first, second, third, *_ = _restarts(rule, 1000)
    assert first == PATIENCE_S
    assert second - first > 100
    assert third - second > 200


def test_one_that_never_had_an_executor_is_given_a_minute() -> None:
    assert _restarts(RestartRule(), 70) == [60]


def test_nothing_is_made_anew_while_there_are_executors_or_nothing_waits() -> None:
    assert _restarts(RestartRule(), 1000, executors=1) == []
    rule = RestartRule()
    assert not any(rule.look(now, waits=False, executors=0) for now in range(1000))


def test_one_that_its_master_knows_keeps_its_place_however_long_it_waits() -> None:
    never = RestartRule()
    lost = RestartRule()
    lost.look(0, waits=False, executors=1)
    for rule in (never, lost):
        looks = [
            rule.look(now, waits=True, executors=0, is_forgotten=False) for now in range(1, 1000)
        ]
        assert not any(looks)


def test_the_delay_begins_when_the_master_says_no_more_that_it_knows_the_application() -> None:
    rule = RestartRule()
    for now in range(100):
        rule.look(now, waits=True, executors=0, is_forgotten=False)
    assert [now for now in range(100, 170) if rule.look(now, waits=True, executors=0)] == [160]


def test_a_patient_one_is_ended_only_if_it_is_known_to_be_forgotten() -> None:
    rule = RestartRule(is_patient=True)
    assert _restarts(rule, 1000) == []
    looks = [rule.look(now, waits=True, executors=0, is_forgotten=True) for now in (1000, 1002)]
    assert looks == [False, True]


def test_one_that_its_master_does_not_know_is_made_anew_once_that_is_sure() -> None:
    rule = RestartRule()
    known = [rule.look(now, waits=True, executors=0) for now in range(5)]
    forgotten = [rule.look(now, waits=True, executors=0, is_forgotten=True) for now in range(5, 8)]
    assert (known, forgotten) == ([False] * 5, [False, False, True])


def test_one_that_its_master_does_not_know_is_made_anew_while_executors_are_left() -> None:
    rule = RestartRule()
    looks = [rule.look(now, waits=False, executors=1, is_forgotten=True) for now in (0, 1, 2)]
    assert looks == [False, False, True]


def test_a_master_that_knows_the_application_again_ends_the_doubt() -> None:
    rule = RestartRule()
    doubts = [True, True, False, True, True]
    assert not any(
        rule.look(now, waits=True, executors=0, is_forgotten=each)
        for now, each in enumerate(doubts)
    )
