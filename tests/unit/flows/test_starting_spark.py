"""The start of Spark is one for all who ask for it, whoever of them does not wait for its end."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from threading import Event

import pytest

from flows.spark.engine import SparkEngine
from flows.spark.jvm import Gateway, Jvm, JvmEnded
from mm2.errors import FatalError
from tests.support.eventually import PATIENCE_S


class _Jvm(Jvm):
    """One that starts until it is told that it will not come to be."""

    def __init__(self) -> None:
        self.asked = 0
        self.is_asked, self.ends = Event(), Event()

    def listen(self, relay: Callable[[str], bool]) -> None:
        pass

    def gateway(self) -> Gateway:
        self.asked += 1
        self.is_asked.set()
        assert self.ends.wait(PATIENCE_S)
        raise JvmEnded("it ended")

    def failure_reason(self) -> str:
        return "it ended"

    def end(self, *, within_s: float = 0.0) -> None:
        self.ends.set()


class _EndedJvm(Jvm):
    """One that has ended, and has printed something."""

    def __init__(self, *lines: str) -> None:
        self.last_lines = deque(lines)
        self._listener = None


def test_the_error_of_a_jvm_that_ends_names_its_cause() -> None:
    jvm = _EndedJvm(
        'Exception in thread "main" java.lang.ExceptionInInitializerError',
        "\tat org.apache.spark.deploy.SparkSubmit.main(SparkSubmit.scala)",
        "Caused by: java.net.UnknownHostException: me: me: Name or service not known",
        "\t... 10 more",
        "Caused by: java.net.UnknownHostException: me: Name or service not known",
    )
    assert jvm.failure_reason() == "java.net.UnknownHostException: me: Name or service not known"
    assert _EndedJvm('Exception in thread "main" a.B: c').failure_reason() == "a.B: c"


async def _start_and_give_up(jvm: _Jvm) -> SparkEngine:
    engine = SparkEngine({}, task=lambda _: {}, jvm=jvm)
    first = asyncio.create_task(engine.start())
    assert await asyncio.to_thread(jvm.is_asked.wait, PATIENCE_S)
    first.cancel()
    await asyncio.wait({first})
    assert first.cancelled()
    return engine


async def test_who_comes_while_a_given_up_start_goes_on_waits_for_that_one() -> None:
    jvm = _Jvm()
    engine = await _start_and_give_up(jvm)
    second = asyncio.create_task(engine.start())
    await asyncio.sleep(0)
    jvm.ends.set()
    with pytest.raises(FatalError, match="it ended"):
        await second
    assert jvm.asked == 1
    await engine.stop()


async def test_an_engine_that_stops_waits_for_the_end_of_a_given_up_start() -> None:
    engine = await _start_and_give_up(_Jvm())
    await engine.stop()
    assert len(asyncio.all_tasks()) == 1, "the test's own"
