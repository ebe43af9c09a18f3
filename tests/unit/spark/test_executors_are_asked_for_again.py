"""A master that recovers is told again how many executors an application is to have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from flows.spark.standalone_master import RepeatedRequest, ask_again
from tests.support.eventually import PATIENCE_S

_STANDALONE = "spark://master:7077"


def _context(
    asked: Callable[[int], object], *, master: str = _STANDALONE, on_demand: str | None = "true"
) -> Any:
    conf = SimpleNamespace(get={"spark.dynamicAllocation.enabled": on_demand}.get)
    java = SimpleNamespace(requestExecutors=asked)
    jsc = SimpleNamespace(sc=lambda: java)
    return SimpleNamespace(getConf=lambda: conf, master=master, _jsc=jsc)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as found:
        yield found


@pytest.mark.parametrize(
    ("master", "on_demand", "wanted"),
    [
        (_STANDALONE, "true", [0]),
        (_STANDALONE, "false", []),
        (_STANDALONE, None, []),
        ("yarn", "true", []),
    ],
)
def test_only_a_standalone_master_is_asked_and_for_no_more_than_before(
    master: str, on_demand: str | None, wanted: list[int]
) -> None:
    asked: list[int] = []
    ask_again(_context(asked.append, master=master, on_demand=on_demand))
    assert asked == wanted


def test_a_jvm_that_is_gone_is_left_to_those_who_start_another() -> None:
    ask_again(SimpleNamespace())  # type: ignore[arg-type]  # has nothing


async def test_it_is_asked_each_few_seconds_while_jobs_wait(threads: ThreadPoolExecutor) -> None:
    asked: list[float] = []
    request, now = RepeatedRequest(threads), 0.0
    context = _context(lambda _: asked.append(now))
    for second, waits in enumerate([True] * 4 + [False] + [True] * 12):
        now = float(second)
        request.look(now, context, waits=waits)
        if request._call is not None:
            await request._call
    assert asked == [10.0, 15.0]


async def test_a_master_that_is_silent_is_asked_nothing_more(threads: ThreadPoolExecutor) -> None:
    asked: list[int] = []
    answers = Event()

    def wait(number: int) -> None:
        asked.append(number)
        assert answers.wait(PATIENCE_S)

    request = RepeatedRequest(threads)
    for second in range(30):
        request.look(float(second), _context(wait), waits=True)
    answers.set()
    assert request._call is not None
    await request._call
    assert asked == [0]
