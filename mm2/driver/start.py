"""
The order of a start, which is what makes it quick.

Spark's JVM is started as soon as the configuration is known, and comes up while this process
imports everything else. Then this process forks the one that tasks will be forked from, which needs
all imports done and nothing else begun; and then the event loop starts.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flows.spark.jvm import DEFAULTS, Jvm, is_local
from flows.spark.zygote import Zygote
from mm2.driver.flows_of_file import load_flows

if TYPE_CHECKING:  # It would bring everything with it that is imported later.
    from mm2.driver.app import Engine


def run(path: Path, clusters: Sequence[str] | None = None) -> int:
    """
    Runs the flows of a file in the foreground; returns the exit status.

    A signal that asks it to stop is obeyed from the beginning: the JVM, too, is gone then.

    Raises:
        ConfigErrors: the file is wrong.
        ConfigError: it holds no flow to run.
    """
    configs = load_flows(path, clusters)
    spark = {key: value for config in configs for key, value in config.spark.items()}

    def main(engine: Engine) -> int:
        from mm2.driver.app import run_flows  # noqa: PLC0415 - see above
        from mm2.driver.reload import read_again  # noqa: PLC0415

        return run_flows(configs, engine, lambda: read_again(path, clusters))

    return foreground(main, spark=spark, copies=any(config.source.runs for config in configs))


def foreground(
    main: Callable[[Engine], int], *, spark: Mapping[str, str], copies: bool = True
) -> int:
    """
    Runs ``main`` with an engine, and returns what it returns.

    Args:
        main: runs the event loop; what it needs is imported in it, and not before.
        spark: ``spark.*`` settings.
        copies: whether there is anything to copy yet; if not, Spark is not started.
    """
    settings = {**DEFAULTS, **spark}
    if not copies:
        return _run(main, settings, None, None)
    signals = _Signals()
    zygote = Zygote() if is_local(settings) and "spark.pyspark.python" not in settings else None
    jvm = Jvm(settings, environment=zygote.environment if zygote else None)
    try:
        signals.obey()
        return _run(main, settings, jvm, zygote)
    except SystemExit:
        jvm.end(within_s=0)
        raise
    finally:
        if zygote is not None:
            zygote.end()


class _Signals:
    """
    End this process while it starts; once the event loop runs, it takes them over.

    A signal that comes while a process is being started would leave that one without anyone who
    knows it: such a signal waits until ``obey``.
    """

    def __init__(self) -> None:
        self._came = False
        self._is_obeyed = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._come)

    def obey(self) -> None:
        """
        Signals count from now on, and those that came before.

        Raises:
            SystemExit: one came.
        """
        self._is_obeyed = True
        if self._came:
            raise SystemExit(0)

    def _come(self, _number: int, _frame: object) -> None:
        is_first, self._came = not self._came, True
        if is_first and self._is_obeyed:
            raise SystemExit(0)


def _run(
    main: Callable[[Engine], int],
    settings: dict[str, str],
    jvm: Jvm | None,
    zygote: Zygote | None,
) -> int:
    # What takes long to import, and only now: see above.
    from flows.source.task import run_bundle  # noqa: PLC0415
    from flows.spark.daemon import import_needed  # noqa: PLC0415
    from flows.spark.engine import SparkEngine  # noqa: PLC0415
    from mm2.telemetry.logs import configure_logs  # noqa: PLC0415

    configure_logs()
    if zygote is not None and jvm is not None:
        import_needed()
        zygote.fork(jvm.process.stdin, jvm.process.stderr)
    return main(
        SparkEngine(
            settings,
            task=run_bundle,
            jvm=jvm,
            environment=zygote.environment if zygote else None,
        )
    )
