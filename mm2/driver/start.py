"""
The order of a start, which is what makes it quick.

Spark's JVM is started as soon as the configuration is known, and comes up while this process
imports everything else. Then this process forks the one that tasks will be forked from, which needs
all imports done and nothing else begun; and then the event loop starts.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.spark.installed import require_java, require_pyspark
from flows.spark.jvm import Jvm, is_local
from flows.spark.settings import spark_settings
from flows.spark.submitted import SubmittedJvm, is_submitted, over
from flows.spark.task_forker import TaskForker
from mm2.driver.signals import StopSignals
from mm2.errors import ConfigErrors

if TYPE_CHECKING:  # It would bring everything with it that is imported later.
    from mm2.driver.mirror_maker import Engine


def run(path: Path, clusters: Sequence[str] | None = None) -> int:
    """
    Runs the flows of a file in the foreground; returns the exit status.

    A signal that asks it to stop is obeyed from the beginning: the JVM, too, is gone then.

    Raises:
        ConfigErrors: the file is wrong, so that no flow that it enables can run.
        ConfigError: it holds no flow to run.
        FatalError: there is no PySpark or no Java.
    """
    from mm2.driver.flows_of_file import read_flows  # noqa: PLC0415 - not all programs need it

    found = read_flows(path, clusters)
    spark = {key: value for config in found.flows for key, value in config.spark.items()}
    has_sql = any(config.source.transforms.sql for config in found.flows)

    def main(engine: Engine, signals: StopSignals) -> int:
        from mm2.driver.file_reload import read_again  # noqa: PLC0415
        from mm2.driver.file_validation import made, warn_of_suspicious  # noqa: PLC0415
        from mm2.driver.mirror_maker import run_flows  # noqa: PLC0415 - see above

        warn_of_suspicious(path)
        good = made(found)
        again = partial(read_again, path, clusters)
        return run_flows(good.flows, engine, signals, again, file=path, failed=good.failed)

    copies = any(config.source.runs for config in found.flows)
    return foreground(main, spark=spark, has_sql=has_sql, copies=copies)


def foreground(
    main: Callable[[Engine, StopSignals], int],
    *,
    spark: Mapping[str, str],
    has_sql: bool = False,
    copies: bool = True,
    task_module: str | None = None,
) -> int:
    """
    Runs ``main`` with an engine, and returns what it returns.

    Args:
        main: runs the event loop, which is to obey the signals; what it needs is imported in it,
            and not before.
        has_sql: whether a flow has expressions of SQL.
        copies: whether there is anything to copy yet; if not, Spark is not started.
        task_module: what tasks run that are no bundles; imported before they are forked.

    Raises:
        FatalError: there is no PySpark or no Java.
        ConfigErrors: ``main`` cannot run with its configuration.
    """
    require_pyspark()
    signals = StopSignals()
    settings = spark_settings(over(spark) if is_submitted() else spark, has_sql=has_sql)
    if not copies or is_submitted():
        submitted = SubmittedJvm(signals.forwarded) if is_submitted() else None
        return _run(main, settings, signals, submitted, None, task_module=task_module)
    require_java()
    forker = TaskForker() if is_local(settings) and "spark.pyspark.python" not in settings else None
    jvm = Jvm(settings, environment=forker.environment if forker else None)
    try:
        return _run(main, settings, signals, jvm, forker, task_module=task_module)
    except (SystemExit, ConfigErrors):
        jvm.end(within_s=0)
        raise
    finally:
        if forker is not None:
            forker.end()


def _run(
    main: Callable[[Engine, StopSignals], int],
    settings: dict[str, str],
    signals: StopSignals,
    jvm: Jvm | None,
    forker: TaskForker | None,
    *,
    task_module: str | None,
) -> int:
    signals.end_if_any_came()
    with _importing():
        engine = _engine(settings, signals, jvm, forker, task_module)
    signals.end_if_any_came()
    return main(engine, signals)


@contextmanager
def _importing() -> Iterator[None]:
    """Looks for no garbage: modules hardly have any, and it takes a sixth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _engine(
    settings: dict[str, str],
    signals: StopSignals,
    jvm: Jvm | None,
    forker: TaskForker | None,
    task_module: str | None,
) -> Any:
    # What takes long to import, and only now: see above.
    from flows.spark.daemon import BUNDLES, import_needed  # noqa: PLC0415
    from mm2.telemetry.logs import configure_logs  # noqa: PLC0415

    configure_logs()
    if forker is not None and jvm is not None:
        import_needed(task_module or BUNDLES)
        signals.end_if_any_came()
        forker.fork(jvm.process.stdin, jvm.process.stderr)
    environment = forker.environment if forker else None
    if task_module is not None:
        from flows.spark.jobs import SparkJobs  # noqa: PLC0415

        return SparkJobs(settings, jvm=jvm, environment=environment)
    from flows.source.source_task import run_bundle  # noqa: PLC0415
    from flows.spark.engine import SparkEngine  # noqa: PLC0415

    return SparkEngine(settings, task=run_bundle, jvm=jvm, environment=environment)
