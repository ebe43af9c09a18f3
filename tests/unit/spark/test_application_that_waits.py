"""What becomes of an application without executors, by what its master says of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from flows.spark import batch_job, live_slots, standalone_master
from flows.spark.batch_job import run_tasks
from flows.spark.jobs import SparkJobs
from flows.spark.live_slots import LiveSlots, _Slots
from flows.spark.standalone_master import is_forgotten
from mm2.slot_allocation import Slots
from tests.support.eventually import PATIENCE_S
from tests.support.idle_slots import idle_slots

_OURS = "app-1"


def _context(masters: str = "spark://one:7077,two:7077") -> Any:
    return SimpleNamespace(master=masters, applicationId=_OURS)


def _masters_say(
    monkeypatch: pytest.MonkeyPatch, *answers: tuple[str, set[str]] | Exception
) -> None:
    left = iter(answers)

    def ask(*_: object) -> tuple[str, set[str]]:
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(standalone_master, "_applications", ask)


_AWAY = OSError("is away")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([("ALIVE", {"app-0", _OURS})], False),
        ([_AWAY, ("ALIVE", {_OURS})], False),
        ([("STANDBY", set()), ("ALIVE", {"app-0"})], True),
        ([_AWAY, ("ALIVE", set())], True),
        ([_AWAY, ("STANDBY", set())], False),
        ([("STANDBY", set()), ("RECOVERING", {"app-0"})], False),
        ([_AWAY, _AWAY], None),
    ],
)
def test_masters_know_an_application_or_have_forgotten_it_or_do_not_say(
    monkeypatch: pytest.MonkeyPatch, answers: list[Any], expected: bool | None
) -> None:
    _masters_say(monkeypatch, *answers)
    assert is_forgotten(_context()) is expected


def test_masters_of_other_kinds_do_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    _masters_say(monkeypatch)
    assert is_forgotten(_context("yarn")) is None


def test_an_application_whose_jvm_goes_meanwhile_is_not_known_to_be_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class _Gone:
        master = "spark://one:7077"

        @property
        def applicationId(self) -> str:  # noqa: N802 - PySpark's name
            raise Py4JNetworkError("Answer from Java side is empty")

    _masters_say(monkeypatch, ("ALIVE", set()))
    gone: Any = _Gone()
    assert is_forgotten(gone) is None


async def _restarts(
    monkeypatch: pytest.MonkeyPatch, says: bool | None, *, is_patient: bool = False
) -> list[float]:
    """When an application is ended that waits for its first executor."""
    now = 0.0
    ended: list[float] = []
    monkeypatch.setattr(live_slots, "is_forgotten", lambda _: says)
    monkeypatch.setattr(live_slots, "time", SimpleNamespace(monotonic=lambda: now))
    with ThreadPoolExecutor(1) as threads:
        live = idle_slots(threads, restart=lambda: ended.append(now), is_patient=is_patient)
        for second in range(100):
            now = float(second)
            await live._follow(_context(), frozenset({"A->B/0"}), _Slots(frozenset(), {"d:1": 0}))
    return ended


async def test_only_one_that_its_master_knows_waits_in_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert await _restarts(monkeypatch, says=False) == []
    assert await _restarts(monkeypatch, says=None) == [60]
    assert (await _restarts(monkeypatch, says=True))[0] == 2


async def test_one_of_a_command_waits_where_the_cluster_does_not_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert await _restarts(monkeypatch, says=None, is_patient=True) == []
    assert (await _restarts(monkeypatch, says=True, is_patient=True))[0] == 2


async def test_a_master_that_is_silent_holds_up_no_look_and_is_asked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers, asked = Event(), []

    def ask(_: object) -> bool:
        asked.append(answers.wait(PATIENCE_S))
        return True

    monkeypatch.setattr(live_slots, "is_forgotten", ask)
    monkeypatch.setattr(live_slots, "_ANSWERS_WITHIN_S", 0.0)
    with ThreadPoolExecutor(1) as threads:
        live = idle_slots(threads)
        assert [await live._ask_master(_context()) for _ in range(3)] == [False] * 3
        answers.set()
        monkeypatch.setattr(live_slots, "_ANSWERS_WITHIN_S", PATIENCE_S)
        assert await live._ask_master(_context()) is True
        assert asked == [True]
        assert await live._ask_master(_context()) is True
        assert asked == [True] * 2
        answers.clear()
        monkeypatch.setattr(live_slots, "_ANSWERS_WITHIN_S", 0.0)
        found = [await live._ask_master(_context()) for _ in range(3)]
        assert found == [True] * 3, "the last answer holds until there is another"
        answers.set()


def test_commands_are_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    followers: list[dict[str, Any]] = []

    class _Jobs(SparkJobs):
        async def start(self) -> None:
            self._follow_cluster()

    def follower(slots: Slots, **options: Any) -> LiveSlots:
        followers.append(options)
        return LiveSlots(slots, **options)

    monkeypatch.setattr(batch_job, "SparkJobs", _Jobs)
    monkeypatch.setattr("flows.spark.jobs.LiveSlots", follower)
    settings = {"spark.master": "spark://127.0.0.1:1"}
    run_tasks(settings, abs, 0, title="test", reached=lambda *_: None, ended=lambda _: None)
    assert [each["is_patient"] for each in followers] == [True]
