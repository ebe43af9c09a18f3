"""
Runs a function for many numbers in Spark, in an application of its own that ends with it.

For commands. Each number is a job of one task, as a bundle is, so that the progress is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final, TypeAlias, TypeVar

from flows.spark.jobs import SparkJobs
from flows.spark.spark_job import JobFailed, SparkJob
from flows.spark.task_progress import progress_in
from mm2.errors import FatalError
from mm2.telemetry.logs import relay

T = TypeVar("T")

_MASTER: Final = "local[*]"
"""Each task uses a core for as long as it runs, unlike those of a mirror."""

Reached: TypeAlias = Callable[[int, int], None]
"""Is told the number of a task, and how much of it is done."""

_MOST_AT_ONCE: Final = 1024
"""Jobs that are submitted where Spark's master does not say how many run."""


def run_tasks(
    settings: Mapping[str, str],
    task: Callable[[int], T],
    count: int,
    *,
    title: str,
    reached: Reached,
    ended: Callable[[int], None],
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
        reached: is called with what a task has told of itself, from another thread.
        ended: is called with the number of a task that has ended.
        passwords: keys of those that the function holds.

    Raises:
        FatalError: Spark does not start, or ends before the jobs do.
    """

    def heard(line: str) -> bool:
        if (told := progress_in(line)) is None:
            return relay(line)
        reached(*told)
        return True

    # Another application would have to begin all jobs again.
    engine = SparkJobs({"spark.master": _MASTER, **settings}, is_patient=True, heard=heard)
    job = partial(_job, task, title, passwords)
    return asyncio.run(_run(engine, job, count, ended))


def _job(
    task: Callable[[int], T], title: str, passwords: Collection[str], number: int
) -> SparkJob[T]:
    name = f"{title}, part {number}"
    return SparkJob(name, name, partial(task, number), passwords)


async def _run(
    engine: SparkJobs, job: Callable[[int], SparkJob[T]], count: int, ended: Callable[[int], None]
) -> list[T]:
    results: dict[int, T] = {}
    room = asyncio.Semaphore(_MOST_AT_ONCE)

    async def one(number: int) -> None:
        async with room:
            results[number] = await engine.run_job(job(number))
            ended(number)

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
