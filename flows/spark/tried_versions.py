"""The releases of Spark that mm2 was tried with."""

from __future__ import annotations

from typing import Final

import pyspark
import structlog

log = structlog.get_logger()

TRIED: Final = ("4.3",)
"""Minor releases; ``pyproject.toml`` lets no other one of PySpark be installed."""


def warn_if_untried(version: str) -> None:
    """
    Warns of a Spark, or a PySpark, that was not tried.

    They differ where ``SPARK_HOME`` is another Spark than the one that PySpark brings along.

    Args:
        version: of the Spark that runs.
    """
    python = pyspark.__version__
    if any(_minor(each) not in TRIED for each in (version, python)):
        log.warning("spark.untried", version=version, pyspark=python, tried=TRIED)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
