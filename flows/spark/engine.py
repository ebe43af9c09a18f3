"""
Runs bundles as Spark jobs.

One job a bundle, because Spark fails a whole job when one task is out of attempts, and one
bundle's trouble must not stop the others. A job is one long-lived task: a job per micro-batch
would cost more than 100 ms each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from flows.spark.accumulators import are_shown, show_totals
from flows.spark.jobs import SparkJobs
from flows.spark.spark_job import JVM_GONE, SparkJob, is_running, password_keys, sql_problem
from mm2.config.flow_config import FlowConfig
from mm2.errors import ConfigError
from mm2.protocol.bundle_spec import BundleSpec

_ANSWERS_WITHIN_S: Final = 1.0

BundleTask = Callable[[BundleSpec], Mapping[str, int]]
"""Runs in a Python worker until it is stopped, and returns its totals; must be picklable."""


class SparkEngine(SparkJobs):
    """The Spark application of a node's bundles; arguments that are not named here go to it."""

    resubmits = True

    def __init__(self, settings: Mapping[str, str], *, task: BundleTask, **options: Any) -> None:
        super().__init__(settings, **options)
        self._task = task

    async def problem(self, config: FlowConfig) -> ConfigError | None:
        """
        What Spark says of the flow's expressions of SQL.

        Raises:
            FatalError: the JVM does not start.
        """
        sql, provided = config.source.transforms.sql, config.source.transforms.provided
        if not sql or not config.source.runs:
            return None
        context = await self._started()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._calls, sql_problem, context, sql, provided)

    async def show_totals(self, totals: Callable[[], Mapping[str, int]]) -> None:
        """Shows totals among Spark's own metrics until it is cancelled, if anybody sees these."""
        if are_shown(self.settings):
            await show_totals(totals, lambda: self._context, self._calls)

    async def run(self, spec: BundleSpec) -> Mapping[str, int]:
        """
        Runs one bundle, which has a slot, to its end and returns its totals.

        Raises:
            JobFailed: the job ended with an error, or the JVM is gone; submit it again.
        """
        # Standard error of executors elsewhere, and of spark-submit, is not this driver's.
        is_heard = not self.is_cluster and (self._jvm is None or self._jvm.is_own)
        spec = replace(spec, copies_events=not is_heard)
        passwords = [*password_keys(spec.source, spec.target), *spec.transforms.provided]
        work, title = partial(self._task, spec), f"mirrors bundle {spec.name}"
        shows_values = spec.errors.logs_messages
        job = SparkJob(spec.name, title, work, passwords, spec.transforms.sql, shows_values)
        return await self.run_job(job)

    async def is_running(self, bundle: str) -> bool:
        """Whether the task of a bundle runs now; True also if Spark does not say so in time."""
        context, loop = self._context, asyncio.get_running_loop()
        if context is None:
            return False
        try:
            async with asyncio.timeout(_ANSWERS_WITHIN_S):
                return await loop.run_in_executor(self._calls, is_running, context, bundle)
        except TimeoutError:
            return True
        except JVM_GONE:  # And with it the task.
            return False
