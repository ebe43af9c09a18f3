"""A JVM that has started this process: ``spark-submit`` around mm2."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, Final

from flows.spark.jvm import Gateway, Jvm, JvmEnded

_PORT: Final = "PYSPARK_GATEWAY_PORT"
_SECRET: Final = "PYSPARK_GATEWAY_SECRET"  # noqa: S105 - the name of a variable


def is_submitted() -> bool:
    """Whether this process was started by ``spark-submit``."""
    return _PORT in os.environ and _SECRET in os.environ


_OPTIONS: Final = {"spark.master": "--master", "spark.app.name": "--name"}
"""Of ``spark-submit``, which makes up what it is not given."""


def submitted_settings() -> dict[str, str]:
    """What ``spark-submit`` was given, ``spark-defaults.conf`` included."""
    # What takes long to import is needed here alone.
    from pyspark import SparkConf  # noqa: PLC0415
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415

    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    command = gateway.jvm.java.lang.System.getProperty("sun.java.command")
    return asked_for(dict(SparkConf(_jvm=gateway.jvm).getAll()), command or "")


def asked_for(submitted: Mapping[str, str], command: str) -> dict[str, str]:
    """
    Settings without the master and the name that ``spark-submit`` has made up.

    Args:
        command: that it was called with.
    """
    made_up = {"spark.master": "local[*]", "spark.app.name": Path(sys.argv[0]).name}
    given = {key for key, name in _OPTIONS.items() if name in command or f"{key}=" in command}
    return {
        key: value for key, value in submitted.items() if key in given or made_up.get(key) != value
    }


def _forward_stops(gateway: Any, stop: Callable[[], None]) -> None:
    """
    Has ``stop`` called, in a thread, when ``spark-submit`` is sent SIGTERM or SIGINT.

    Of itself its JVM would end at once, and this process could not drain.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - see above

    java, misc = gateway.jvm.java, gateway.jvm.sun.misc
    came = java.util.concurrent.Semaphore(0)
    # It releases the semaphore, whatever method of the interface is called.
    kind = java.lang.Class.forName("sun.misc.SignalHandler")
    handler = java.beans.EventHandler.create(kind, came, "release")

    def follow() -> None:
        with suppress(Py4JError, OSError):  # The JVM is gone.
            while True:
                came.acquire()
                stop()

    with suppress(Py4JError):  # The user has the JVM leave signals alone (-Xrs).
        for name in ("TERM", "INT"):
            misc.Signal.handle(misc.Signal(name), handler)
        Thread(target=follow, name="stops-of-spark-submit", daemon=True).start()


class SubmittedJvm(Jvm):
    """
    The JVM behind this process; it ends when this process has, and not before.

    Args:
        stop: is called when it is asked to end and Spark has started. Until then it ends at once.
    """

    is_own = False

    def __init__(self, stop: Callable[[], None] | None = None) -> None:
        self._stop = stop
        self._found = Gateway(port=int(os.environ[_PORT]), secret=os.environ[_SECRET])
        self._is_ended = False
        self._starts_spark: Any = None

    @property
    def is_running(self) -> bool:
        """It has this process for as long as it lives."""
        return True

    def listen(self, relay: Callable[[str], bool]) -> None:
        """Does nothing: what it prints is on the terminal of whoever has started it."""

    def gateway(self) -> Gateway:
        """Where it listens."""
        return self._found

    def begins_spark(self, gateway: Any) -> None:
        """
        Keeps its thread that works for this thread of Python, and for no other one.

        Raises:
            JvmEnded: nobody waits for Spark any more.
        """
        super().begins_spark(gateway)
        self._starts_spark = gateway.jvm.java.lang.Thread.currentThread()
        if self._is_ended:
            raise JvmEnded(self.failure_reason())

    def has_spark(self, gateway: object) -> None:
        """Has it ask this process to stop, rather than end, from now on."""
        super().has_spark(gateway)
        self._starts_spark = None
        if self._stop is not None:
            _forward_stops(gateway, self._stop)

    def failure_reason(self) -> str:
        """What is known of it."""
        return "the JVM of spark-submit does not answer"

    def end(self, *, within_s: float = 0.0) -> None:
        """Has a SparkContext that is being made in it fail; itself it goes on."""
        from py4j.protocol import Py4JError  # noqa: PLC0415 - see above

        self._is_ended = True
        if self._starts_spark is not None:
            with suppress(Py4JError, OSError):  # The JVM is gone.
                self._starts_spark.interrupt()


def over(spark: Mapping[str, str]) -> dict[str, str]:
    """The settings of a file, under those of ``spark-submit``."""
    return {**spark, **submitted_settings()}
