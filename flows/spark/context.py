"""Connects PySpark to a JVM that mm2 has started."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from threading import Timer
from typing import Any, Final

import structlog
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from flows.spark.jvm import Jvm
from flows.spark.yarn import YARN, YarnApplications
from mm2.config.text.expressions import hide

log = structlog.get_logger()

_REMOVES_PODS_WITHIN_S: Final = 15.0
"""An API server of Kubernetes that does not answer is not waited for any longer."""

_REDACTION: Final = "spark.redaction.regex"
_REDACTED_BY_DEFAULT: Final = "(?i)secret|password|token|access[.]?key"
"""Spark's own default of that key."""


def context_of(jvm: Jvm, settings: Mapping[str, str]) -> SparkContext:
    """
    Makes a SparkContext in a JVM.

    Raises:
        JvmEnded: the JVM does not start.
        Py4JJavaError: Spark does not.
    """
    # Spark finds its workers' interpreter here, and nowhere else when it is embedded.
    python = settings.get("spark.pyspark.python", sys.executable)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = python
    # PySpark keeps the JVM that it has known, also when that is gone.
    SparkContext._gateway = None  # noqa: SLF001
    SparkContext._jvm = None  # noqa: SLF001
    SparkContext._active_spark_context = None  # noqa: SLF001
    conf = SparkConf(loadDefaults=False)
    for key, value in with_redaction(settings).items():
        conf.set(key, value)
    listens = jvm.gateway()
    # How PySpark finds a JVM that runs already.
    os.environ["PYSPARK_GATEWAY_PORT"] = str(listens.port)
    os.environ["PYSPARK_GATEWAY_SECRET"] = listens.secret
    try:
        gateway = launch_gateway(conf)  # type: ignore[no-untyped-call]
        jvm.begins_spark(gateway)
        context = SparkContext(conf=conf, gateway=gateway)
        jvm.has_spark(gateway)
        return context
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]


def is_alive(context: SparkContext, jvm: Jvm | None) -> bool:
    """Whether an application has not ended; blocks."""
    java: Any = context._jsc  # noqa: SLF001 - there is no public way to ask
    try:
        return jvm is not None and jvm.is_running and not java.sc().isStopped()
    except (Py4JError, OSError, AttributeError):
        return False


def tell_end(context: SparkContext, settings: Mapping[str, str]) -> None:
    """Says why YARN has ended an application, of which Spark tells nothing; blocks."""
    if settings["spark.master"] == YARN and (why := _on_yarn(context, settings).end_diagnostics()):
        log.warning("spark.application_ended", error=why)


def give_up(context: SparkContext, jvm: Jvm, settings: Mapping[str, str]) -> None:
    """Has a cluster forget an application that gets nothing from it any more; blocks."""
    if settings["spark.master"] == YARN:
        # One whose master is on a node that was lost would be started again much later.
        with suppress(Py4JError, OSError, AttributeError):
            _on_yarn(context, settings).kill(only=str(context.applicationId))
    elif settings["spark.master"].startswith("k8s:"):
        # Its pods would wait for room before those of the next one.
        limit = Timer(_REMOVES_PODS_WITHIN_S, jvm.end, kwargs={"within_s": 0.0})
        limit.start()
        with suppress(Py4JError, OSError, AttributeError):
            context.stop()
        limit.cancel()


def _on_yarn(context: SparkContext, settings: Mapping[str, str]) -> YarnApplications:
    return YarnApplications(context._gateway, settings)  # noqa: SLF001 - there is no public one


def with_redaction(settings: Mapping[str, str]) -> dict[str, str]:
    """Has Spark's web interface and event logs hide the keys whose values are of providers."""
    if not (keys := [key for key, value in settings.items() if hide(value) != value]):
        return dict(settings)
    written = settings.get(_REDACTION, _REDACTED_BY_DEFAULT)
    named = "|".join(rf"^\Q{key}\E$" for key in sorted(keys))
    return {**settings, _REDACTION: f"{written}|{named}"}
