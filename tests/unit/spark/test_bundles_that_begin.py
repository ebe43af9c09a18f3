"""Whether a bundle runs, as Spark says it or does not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import cast

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

from flows.spark import engine as engine_module
from flows.spark.engine import SparkEngine
from tests.support.eventually import PATIENCE_S

_NO_SPARK = {"spark.master": "spark://127.0.0.1:1"}


class _Tracker:
    """Of a context, whose JVM answers like that."""

    def __init__(self, answer: Callable[[], object]) -> None:
        self._answer = answer

    def statusTracker(self) -> None:  # noqa: N802 - PySpark's name
        self._answer()


async def test_a_task_of_a_jvm_that_is_gone_does_not_run() -> None:
    def answer() -> None:
        raise Py4JNetworkError("Answer from Java side is empty")

    engine = SparkEngine(_NO_SPARK, task=lambda _: {})
    assert await engine.is_running("A->B/0") is False
    engine._context = cast("SparkContext", _Tracker(answer))
    assert await engine.is_running("A->B/0") is False


async def test_a_task_of_a_jvm_that_is_silent_may_run(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()
    engine = SparkEngine(_NO_SPARK, task=lambda _: {})
    engine._context = cast("SparkContext", _Tracker(lambda: is_over.wait(PATIENCE_S)))
    monkeypatch.setattr(engine_module, "_ANSWERS_WITHIN_S", 0.0)
    try:
        assert await engine.is_running("A->B/0") is True
    finally:
        is_over.set()
