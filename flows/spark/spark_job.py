"""A job of one task, and how Spark is told of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext

from flows.spark.spark_errors import reason_of
from mm2.config.text.expressions import hide
from mm2.config.text.redact import is_secret
from mm2.errors import ConfigError

T = TypeVar("T")

JVM_GONE: Final = (
    Py4JError,
    OSError,
    EOFError,
    AttributeError,
    AssertionError,
    UnboundLocalError,
)
"""What PySpark raises without its JVM: the last three where it uses what is not there any more."""

_CALL_SITE: Final = "callSite.short"
"""What Spark names stages by in its web interface and event log."""


class JobFailed(Exception):
    """A job ended with an error; the message is the last line of its traceback."""


@dataclass(frozen=True, slots=True)
class SparkJob(Generic[T]):
    """
    A job of one task.

    Attributes:
        group: its job group, of which there is one job at a time.
        title: what Spark's web interface shows; expressions of providers stay hidden.
        work: runs in a Python worker; it and its result must be picklable.
        passwords: the keys of secrets that the work holds, those of ``sql`` included.
        sql: expressions by columns, in whose midst the work runs (``flows.spark.sql.job``).
        shows_values: whether the reason why ``sql`` fails for a record may have parts of the
            record: reasons are logged.
    """

    group: str
    title: str
    work: Callable[[], T]
    passwords: Collection[str] = ()
    sql: Mapping[str, str] = field(default_factory=dict)
    shows_values: bool = False


def password_keys(*clients: Mapping[str, str]) -> list[str]:
    """The keys of passwords among the settings of clients."""
    return sorted({key for settings in clients for key in settings if is_secret(key)})


def submit(context: SparkContext, job: SparkJob[T]) -> T:
    """
    Runs a job to its end; blocks.

    Raises:
        JobFailed: the job ended with an error, or the JVM is gone.
    """
    work = job.work

    # The function, with the passwords that it holds, goes to the JVM over a socket: PySpark writes
    # the data of ``parallelize`` to a file (docs/adr/0018).
    # The one row is read because Spark uses a worker again that has read all of its input.
    def run(rows: Iterable[int]) -> Iterator[T]:
        return (work() for _ in rows)

    try:
        title = hide(job.title)
        context.setJobGroup(job.group, title, interruptOnCancel=True)
        context.setLocalProperty(_CALL_SITE, title)
        if job.sql:
            # Arrow and Spark's SQL take a second to import, and few flows need them.
            from flows.spark.sql.job import run_with_sql  # noqa: PLC0415

            return run_with_sql(
                context, work, job.sql, job.passwords, shows_values=job.shows_values
            )
        result: T
        # Unlike those of ``collect``, its stage has the name that was just set.
        (result,) = context.runJob(context.parallelize([0], 1), run)
    except Py4JJavaError as error:
        raise JobFailed(reason_of(error)) from None
    except JVM_GONE as error:
        raise JobFailed(f"the JVM is gone: {error}") from None
    else:
        return result


def sql_problem(
    context: SparkContext, expressions: Mapping[str, str], provided: Collection[str]
) -> ConfigError | None:
    """
    What Spark says of expressions of SQL; None also if it cannot be asked. It blocks.

    Args:
        provided: keys of those that have values of providers.
    """
    from flows.spark.sql.job import check_sql  # noqa: PLC0415 - see above

    try:
        check_sql(context, expressions, provided)
    except ConfigError as problem:
        return problem
    except JVM_GONE:
        pass
    return None


def last_job(context: SparkContext, group: str) -> tuple[int, list[Any]]:
    """
    The number of a group's last job, -1 if it has none, and the stages of that job if it runs.

    A group has one job at a time; Spark remembers the earlier ones.
    """
    tracker = context.statusTracker()
    last = max(tracker.getJobIdsForGroup(group), default=-1)
    job = tracker.getJobInfo(last) if last >= 0 else None
    if job is None or job.status != "RUNNING":
        return last, []
    return last, list(filter(None, map(tracker.getStageInfo, job.stageIds)))


def is_running(context: SparkContext, group: str) -> bool:
    """Whether a task of a job group runs."""
    return any(stage.numActiveTasks > 0 for stage in last_job(context, group)[1])


def cancel(context: SparkContext, group: str) -> None:
    """Cancels the jobs of a group that Spark knows."""
    with suppress(*JVM_GONE):
        context.cancelJobGroup(group)
