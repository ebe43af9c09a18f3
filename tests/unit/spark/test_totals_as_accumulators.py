"""Totals of flows are accumulators of the application that runs, where somebody can see them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError
from structlog.testing import capture_logs

from flows.spark import accumulators
from flows.spark.accumulators import Accumulators, are_shown, show_totals
from flows.spark.engine import SparkEngine


class _Map(dict[str, Any]):
    """Scala's."""

    def updated(self, name: str, value: object) -> _Map:
        return _Map({**self, name: value})


class _Accumulator:
    def __init__(self) -> None:
        self.value = 0

    def setValue(self, value: int) -> None:  # noqa: N802 - Java's
        self.value = value


class _Context:
    """As much of an application as is needed, with what its metrics show."""

    def __init__(self) -> None:
        self.registered: list[dict[str, _Accumulator]] = []
        java = SimpleNamespace(longAccumulator=lambda _: _Accumulator())
        self._jsc = SimpleNamespace(sc=lambda: java)
        register = SimpleNamespace(register=lambda _, found: self.registered.append(found))
        source = SimpleNamespace(**{"LongAccumulatorSource$": _module(register)})
        scala = SimpleNamespace(**{"Map$": _module(SimpleNamespace(empty=_Map))})
        self._jvm = SimpleNamespace(
            org=_nested("apache.spark.metrics.source", source),
            scala=_nested("collection.immutable", scala),
        )

    @property
    def shown(self) -> dict[str, int]:
        return {name: each.value for found in self.registered for name, each in found.items()}


def _module(found: object) -> Any:
    return SimpleNamespace(**{"MODULE$": found})


def _nested(names: str, found: object) -> Any:
    for name in reversed(names.split(".")):
        found = SimpleNamespace(**{name: found})
    return found


def test_each_sum_has_one_accumulator_that_follows_it() -> None:
    context: Any = _Context()
    kept = Accumulators()
    kept.follow(context, {"A->B.records": 1, "A->B.bytes": 10})
    kept.follow(context, {"A->B.records": 3, "A->B.bytes": 1 << 40})
    assert context.shown == {"A->B.records": 3, "A->B.bytes": 1 << 40}
    kept.follow(context, {"A->B.records": 3, "C->D.records": 5})
    assert context.shown == {"A->B.records": 3, "A->B.bytes": 1 << 40, "C->D.records": 5}
    assert [len(found) for found in context.registered] == [2, 1]


def test_the_next_application_has_all_of_them_again() -> None:
    first: Any = _Context()
    second: Any = _Context()
    kept = Accumulators()
    kept.follow(first, {"A->B.records": 1})
    kept.follow(second, {"A->B.records": 2})
    assert (first.shown, second.shown) == ({"A->B.records": 1}, {"A->B.records": 2})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"spark.ui.enabled": "true"}, True),
        ({"spark.metrics.conf.*.sink.jmx.class": "JmxSink"}, True),
        ({"spark.ui.enabled": "false"}, False),
        ({}, False),
    ],
)
def test_they_are_made_where_spark_shows_its_metrics(
    settings: Mapping[str, str], *, expected: bool
) -> None:
    assert are_shown(settings) is expected


async def test_where_nobody_can_see_them_nothing_is_summed() -> None:
    def totals() -> Mapping[str, int]:
        raise AssertionError

    engine = SparkEngine({}, task=lambda _: {})
    await engine.show_totals(totals)
    await engine.stop()


async def _outcome(monkeypatch: pytest.MonkeyPatch, failure: Exception) -> list[str]:
    """What is logged when one of several attempts fails so, until the other ones are made."""
    monkeypatch.setattr(accumulators, "_EVERY_S", 0.0)
    context: Any = object()
    attempts, is_over = [0], asyncio.Event()
    loop = asyncio.get_running_loop()

    def attempt(*_: object) -> None:
        attempts[0] += 1
        if attempts[0] == 2:
            raise failure
        if attempts[0] == 3:
            loop.call_soon_threadsafe(is_over.set)

    monkeypatch.setattr(Accumulators, "follow", attempt)
    applications = iter([None])
    with ThreadPoolExecutor(1) as threads, capture_logs() as logged:
        showing = asyncio.create_task(
            show_totals(lambda: {"a": 1}, lambda: next(applications, context), threads)
        )
        over = asyncio.create_task(is_over.wait())
        await asyncio.wait({showing, over}, return_when=asyncio.FIRST_COMPLETED)
        for each in (showing, over):
            each.cancel()
        await asyncio.gather(showing, over, return_exceptions=True)
    assert attempts[0] >= 2
    return [line["event"] for line in logged]


async def test_a_jvm_that_goes_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await _outcome(monkeypatch, Py4JNetworkError("gone")) == []


async def test_a_spark_that_cannot_show_them_is_told_of_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert await _outcome(monkeypatch, TypeError("no such class")) == ["spark.totals_not_shown"]
