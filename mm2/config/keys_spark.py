"""Keys of Spark that are often given, to tell one that is misspelt; Spark takes any key."""

from __future__ import annotations

import difflib
from typing import Final

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
        "spark.ui.port",
        "spark.yarn.queue",
    }
)
_ALIKE: Final = 0.9
"""Keys of Spark's that are not in the list are less alike to those that are."""


def misspelt(key: str) -> str | None:
    """The key of Spark's that was probably meant; None for one that may be right."""
    if key in SPARK_KEYS:
        return None
    found = difflib.get_close_matches(key, SPARK_KEYS, n=1, cutoff=_ALIKE)
    return found[0] if found else None
