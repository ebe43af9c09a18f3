"""
Totals as accumulators of Spark, which its sinks of metrics and its web interface show.

What a task of PySpark adds to an accumulator is sent when the task ends, and tasks of flows do not
end. So the driver, to which they report by way of Kafka, sets the accumulators itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Any, Final

import structlog
from pyspark import SparkContext

from flows.spark.spark_job import JVM_GONE

log = structlog.get_logger()

_EVERY_S: Final = 10.0
"""As often as sinks of Spark look, by default."""

_UI: Final = "spark.ui.enabled"
_SINKS: Final = "spark.metrics.conf"


def are_shown(settings: Mapping[str, str]) -> bool:
    """Whether anybody can see what Spark measures."""
    return settings.get(_UI) == "true" or any(key.startswith(_SINKS) for key in settings)


class Accumulators:
    """The accumulators of an application, by their names."""

    def __init__(self) -> None:
        self._context: SparkContext | None = None
        self._known: dict[str, Any] = {}

    def follow(self, context: SparkContext, totals: Mapping[str, int]) -> None:
        """Sets accumulators to totals, and makes those that are missing; blocks."""
        if context is not self._context:
            self._context, self._known = context, {}
        if missing := totals.keys() - self._known.keys():
            self._make(context, missing)
        for name, value in totals.items():
            self._known[name].setValue(value)

    def _make(self, context: SparkContext, names: set[str]) -> None:
        jvm: Any = context._jvm  # noqa: SLF001 - PySpark's own are of Python alone
        java: Any = context._jsc  # noqa: SLF001
        made = {name: java.sc().longAccumulator(name) for name in sorted(names)}
        self._known |= made
        found = getattr(getattr(jvm.scala.collection.immutable, "Map$"), "MODULE$").empty()
        for name, accumulator in made.items():
            found = found.updated(name, accumulator)
        source = jvm.org.apache.spark.metrics.source
        getattr(getattr(source, "LongAccumulatorSource$"), "MODULE$").register(java.sc(), found)


async def show_totals(
    totals: Callable[[], Mapping[str, int]],
    context: Callable[[], SparkContext | None],
    threads: Executor,
) -> None:
    """
    Has accumulators follow totals, until it is cancelled; ends if this Spark cannot show them.

    Args:
        totals: by the names of accumulators.
        context: of the application, while it runs.
    """
    shown, loop = Accumulators(), asyncio.get_running_loop()
    while True:
        await asyncio.sleep(_EVERY_S)
        if (application := context()) is None or not (found := totals()):
            continue
        try:
            await loop.run_in_executor(threads, shown.follow, application, found)
        except JVM_GONE:
            continue  # Jobs fail, too, and start another.
        except Exception as error:  # noqa: BLE001 - flows go on without it
            log.warning("spark.totals_not_shown", error=f"{type(error).__name__}: {error}")
            return
