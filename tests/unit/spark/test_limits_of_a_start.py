"""A start of Spark has a limit, also where it has jars to fetch or many masters to ask."""

from __future__ import annotations

import socket
from threading import Barrier
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from flows.spark import start_watch
from flows.spark.installed import check_master
from flows.spark.jvm import Jvm
from flows.spark.start_watch import StartWatch
from flows.spark.yarn import ANSWERS_WITHIN_S, YarnApplications
from mm2.errors import FatalError
from tests.support.eventually import PATIENCE_S, eventually

_MASTER = "spark://a:1"


class _Ending(Jvm):
    """A JVM that is ended, and was never started."""

    def __init__(self) -> None:
        self.has_ended = False
        self.starting = SimpleNamespace(jvm=None)

    def end(self, *, within_s: float = 0.0) -> None:
        self.has_ended = True


def test_jars_to_fetch_have_more_time_and_not_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_watch, "_DOWNLOADS_WITHIN_S", 0.25)
    jvm = _Ending()
    settings = {"spark.master": _MASTER, "spark.jars.packages": "a:b:1"}
    watch = StartWatch(jvm, settings, within_s=0.75)
    with watch:
        eventually(lambda: jvm.has_ended)
    assert watch.is_late
    assert f"spark.master={_MASTER} within 1 s" in str(watch.too_late())


class _Answers:
    """What YARN says when it is asked, one after the other, and the last one for ever."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: str | None) -> None:
        self.asked = 0
        self._answers = answers
        monkeypatch.setattr(YarnApplications, "waiting", lambda _: self._next())

    def _next(self) -> str | None:
        self.asked += 1
        return self._answers[min(self.asked, len(self._answers)) - 1]


def _watch(jvm: Jvm) -> StartWatch:
    return StartWatch(jvm, {"spark.master": "yarn"}, within_s=ANSWERS_WITHIN_S + 0.05)


def test_a_resource_manager_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    _Answers(monkeypatch, None)
    jvm = _Ending()
    with _watch(jvm) as watch:
        eventually(lambda: jvm.has_ended)
    assert watch.is_late
    assert "no ResourceManager of YARN answers" in str(watch.too_late())


def test_a_jvm_that_does_not_come_up_is_given_up_on_yarn_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has the time as well that is for YARN's answer."""
    monkeypatch.setattr(start_watch, "ANSWERS_WITHIN_S", 0.3)
    jvm = _Ending()
    jvm.starting = None
    began = monotonic()
    with StartWatch(jvm, {"spark.master": "yarn"}, within_s=0.4) as watch:
        eventually(lambda: jvm.has_ended)
    assert "does not come up" in str(watch.too_late())
    assert monotonic() - began >= 0.4


def test_an_application_waits_for_its_turn_once_yarn_has_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may have to bring its files first, and the ResourceManager may be away later."""
    answers, jvm = _Answers(monkeypatch, "", None, "queue is full"), _Ending()
    with capture_logs() as logs, _watch(jvm) as watch:
        eventually(lambda: logs)
    assert [(each["event"], each["error"]) for each in logs] == [("spark.queued", "queue is full")]
    assert (answers.asked, jvm.has_ended, watch.is_late) == (3, False, False)


def test_masters_are_asked_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    together = Barrier(3)

    def connect(*_: object) -> Any:
        together.wait(PATIENCE_S)
        raise OSError("silent")

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(FatalError, match="a:1: silent; b:1: silent; c:1: silent"):
        check_master({"spark.master": "spark://a:1,b:1,c:1"})
