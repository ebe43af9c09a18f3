"""
Keys of Spark that are often given, to tell what is misspelt.

Spark takes any key. Of values those are refused with which it would not start.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Final

from mm2.errors import ConfigError

SPARK_KEYS: Final = frozenset(
    {
        "spark.app.name",
        "spark.authenticate",
        "spark.authenticate.secret",
        "spark.blockManager.port",
        "spark.cores.max",
        "spark.default.parallelism",
        "spark.driver.bindAddress",
        "spark.driver.cores",
        "spark.driver.defaultJavaOptions",
        "spark.driver.extraClassPath",
        "spark.driver.extraJavaOptions",
        "spark.driver.host",
        "spark.driver.memory",
        "spark.driver.memoryOverhead",
        "spark.driver.port",
        "spark.dynamicAllocation.enabled",
        "spark.eventLog.dir",
        "spark.eventLog.enabled",
        "spark.executor.cores",
        "spark.executor.extraClassPath",
        "spark.executor.extraJavaOptions",
        "spark.executor.instances",
        "spark.executor.memory",
        "spark.executor.memoryOverhead",
        "spark.executor.pyspark.memory",
        "spark.files",
        "spark.io.encryption.enabled",
        "spark.jars",
        "spark.jars.packages",
        "spark.kubernetes.container.image",
        "spark.kubernetes.namespace",
        "spark.local.dir",
        "spark.log.level",
        "spark.master",
        "spark.network.crypto.enabled",
        "spark.network.timeout",
        "spark.port.maxRetries",
        "spark.pyspark.driver.python",
        "spark.pyspark.python",
        "spark.python.worker.memory",
        "spark.python.worker.reuse",
        "spark.scheduler.mode",
        "spark.speculation",
        "spark.ssl.enabled",
        "spark.submit.deployMode",
        "spark.submit.pyFiles",
        "spark.task.cpus",
        "spark.task.maxFailures",
        "spark.ui.enabled",
        "spark.ui.killEnabled",
        "spark.ui.port",
        "spark.yarn.jars",
        "spark.yarn.queue",
    }
)
_ALIKE: Final = 0.9
"""Keys of Spark's that are not in the list are less alike to those that are."""

_MASTER: Final = re.compile(
    r"local(\[\s*(0*[1-9][0-9]*|\*)\s*(,\s*[0-9]+\s*)?\])?"
    r"|local-cluster\[\s*[0-9]+\s*,\s*[0-9]+\s*,\s*[0-9]+\s*\]"
    r"|yarn|(?!mesos:)[a-z][a-z0-9+.-]*://.+"
)

_OF_HEAP: Final = re.compile(r"[0-9]+[kmgt]?", re.IGNORECASE)
"""What a JVM takes."""

_MEMORY: Final = re.compile(r"\s*[0-9]+(b|[kmgtp]b?)?\s*", re.IGNORECASE)


def misspelt(key: str) -> str | None:
    """The key of Spark's that was probably meant; None for one that may be right."""
    if key in SPARK_KEYS:
        return None
    found = difflib.get_close_matches(key, SPARK_KEYS, n=1, cutoff=_ALIKE)
    return found[0] if found else None


def spark_mistakes(properties: Mapping[str, str]) -> Iterator[ConfigError]:
    """Values that Spark could not start with."""
    for key, value in properties.items():
        if key == "spark.master" and not _MASTER.fullmatch(value):
            remedy = "write local[2], spark://host:7077, k8s://https://host:443 or yarn"
            yield ConfigError(f"{key}={value} is no master: {remedy}.", key=key, value=value)
        elif key.lower().endswith(("memory", "memoryoverhead")) and key in SPARK_KEYS:
            pattern = _OF_HEAP if key == "spark.driver.memory" else _MEMORY
            if not pattern.fullmatch(value):
                message = f"{key}={value} is no size: write a whole number and a unit, as in 512m"
                yield ConfigError(f"{message} or 2g.", key=key, value=value)
