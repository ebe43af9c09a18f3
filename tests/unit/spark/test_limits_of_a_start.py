"""A start of Spark has a limit, also where it has jars to fetch or many masters to ask."""

from __future__ import annotations

import socket
from threading import Barrier
from typing import Any

import pytest

from flows.spark import start_watch
from flows.spark.installed import check_master
from flows.spark.jvm import Jvm
from flows.spark.start_watch import StartWatch
from mm2.errors import FatalError
from tests.support.eventually import PATIENCE_S, eventually

_MASTER = "spark://a:1"


class _Ending(Jvm):
    """A JVM that is ended, and was never started."""

    def __init__(self) -> None:
        self.has_ended = False

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


def test_masters_are_asked_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    together = Barrier(3)

    def connect(*_: object) -> Any:
        together.wait(PATIENCE_S)
        raise OSError("silent")

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(FatalError, match="a:1: silent; b:1: silent; c:1: silent"):
        check_master({"spark.master": "spark://a:1,b:1,c:1"})
