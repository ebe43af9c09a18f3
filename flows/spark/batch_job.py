"""
Runs a function for many numbers in Spark, in an application of its own that ends with it.

For commands. Each number is a job of one task, as a bundle is, so that the progress is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final, TypeVar

from flows.spark.jobs import SparkJobs
from flows.spark.spark_job import JobFailed, SparkJob
from mm2.errors import FatalError

T = TypeVar("T")

_MASTER: Final = "local[*]"
"""Each task uses a core for as long as it runs, unlike those of a mirror."""

_MOST_AT_ONCE: Final = 1024
"""Jobs that are submitted where Spark's master does not say how many run."""


def run_tasks(
    settings: Mapping[str, str],
    task: Callable[[int], T],
    count: int,
    *,
    title: str,
    done: Callable[[], None],
    passwords: Collection[str] = (),
) -> list[T]:
    """
    Runs a function for each number from 0 on, as many at a time as Spark has cores.

    The function, with the passwords that it holds, goes to tasks as those of bundles do
    (docs/adr/0018). Interrupting this ends the jobs and the application.

    Args:
        settings: ``spark.*`` keys of the user, over our defaults.
        task: must be picklable, as its results must.
        count: how many tasks.
        title: begins the names of the jobs, for Spark's web interface.
        done: is called when a task has ended.
        passwords: keys of those that the function holds.

    Raises:
        FatalError: Spark does not start, or ends before the jobs do.
    """
    return asyncio.run(_run(settings, task, count, title=title, done=done, passwords=passwords))


async def _run(
    settings: Mapping[str, str],
    task: Callable[[int], T],
    count: int,
    *,
    title: str,
    done: Callable[[], None],
    passwords: Collection[str] = (),
) -> list[T]:
    results: dict[int, T] = {}
    # Another application would have to begin all jobs again.
    engine = SparkJobs({"spark.master": _MASTER, **settings}, is_patient=True)
    room = asyncio.Semaphore(_MOST_AT_ONCE)

    async def one(number: int) -> None:
        async with room:
            name = f"{title}, part {number}"
            results[number] = await engine.run_job(
                SparkJob(name, name, partial(task, number), passwords)
            )
            done()

    try:
        await engine.start()
        async with asyncio.TaskGroup() as group:
            for number in range(count):
                group.create_task(one(number), name=f"part-{number}")
    except* (JobFailed, FatalError) as failures:
        raise FatalError(f"the Spark job failed: {failures.exceptions[0]}") from failures
    finally:
        await engine.stop()
    return [results[number] for number in range(count)]
