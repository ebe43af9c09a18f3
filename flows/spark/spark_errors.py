"""Sentences about what Spark and its JVM refuse: the reason, and the setting to correct."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from py4j.protocol import Py4JJavaError

from flows.spark.installed import java_launcher
from flows.spark.jvm import DEFAULTS, OLD_JAVA
from mm2.core.balancing.spark_slots import is_in_process
from mm2.errors import FatalError

_OF_SPARK: Final = {"spark.eventLog.dir": "file:///tmp/spark-events"}
"""Defaults of Spark that it may refuse itself."""

_TELLING: Final = 4
"""A value of so few characters may be anywhere in a text."""

_NO_MM2: Final = re.compile(
    r"No module named '(?:mm2|flows)['.]|flows\.spark\.daemon's stdout|module.* 'flows[.']"
)
_HAVE_MM2: Final = (
    "executors have no mm2 in the Python that they run: install it there, or pack it with"
    " mm2 package-env and set spark.archives and spark.pyspark.python as that says"
)
_MOST_CAUSES: Final = 20
_MOST_RECENT: Final = re.compile(r"most recent failure: (?P<failure>.*)")
_AFTER_THE_REASON: Final = "Driver stacktrace:"
_AFTER_THE_MESSAGE: Final = " Received status: "
"""The client of Kubernetes says it again there, with all its fields."""

_SAYS_NOTHING: Final = re.compile(
    r"An error has occurred\.|External scheduler cannot be instantiated|Operation: .* failed\."
)
"""Messages of Kafka's, Spark's, and Kubernetes' clients, whose causes say what it is."""


def not_started(reason: str, settings: Mapping[str, str]) -> FatalError:
    """Says why Spark does not start, and which settings have what the reason speaks of."""
    if OLD_JAVA in reason:
        reason = f"{java_launcher()} is too old: Spark needs Java 17 or 21; correct JAVA_HOME"
    keys = [
        key
        for key, value in {**_OF_SPARK, **settings}.items()
        if DEFAULTS.get(key) != value and any(part in reason for part in _telling_parts(value))
    ]
    if not keys and not is_in_process(settings["spark.master"]):
        keys = ["spark.master"]
    hint = f" (see {', '.join(sorted(keys))})" if keys else ""
    return FatalError(f"Spark does not start: {reason}{hint}")


def _telling_parts(value: str) -> Iterable[str]:
    """The value; elements of a list, without the name of an archive behind a ``#``; addresses."""
    parts = [part.strip().partition("#")[0] for part in value.split(",")]
    addresses = [part.rpartition("//")[2] for part in parts]
    return [part for part in (value, *parts, *addresses) if len(part) > _TELLING]


def reason_of(error: Py4JJavaError) -> str:
    """The last line of the Python traceback inside of Spark's, or Spark's own message."""
    message = _message(error.java_exception) or str(error)
    if _NO_MM2.search(message):
        return _HAVE_MM2
    if found := _MOST_RECENT.search(message):
        message = message[found.start("failure") :]
    lines = [line for line in message.splitlines() if line and not line[0].isspace()]
    lines = [line for line in lines if line != _AFTER_THE_REASON]
    python = [line for line in lines if "Error" in line or "mm2." in line or "flows." in line]
    return (python or lines or [message])[-1]


def _message(exception: Any) -> str | None:
    """What an exception of Java's says, or the first of its causes that says something."""
    for _ in range(_MOST_CAUSES):
        said: str | None = exception.getMessage()
        if said and not _SAYS_NOTHING.fullmatch(said):
            said = said.partition(_AFTER_THE_MESSAGE)[0]
            name = str(exception.getClass().getSimpleName())
            return f"{name}: {said}" if said.startswith("/") or " " not in said else said
        if (cause := exception.getCause()) is None:
            return said
        exception = cause
    return None
