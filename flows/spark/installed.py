"""
What Spark needs and does not bring along, checked before anything is started.

Imports nothing of PySpark, which takes longer to import than the JVM takes to start.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from flows.spark.yarn import YARN, resource_managers
from mm2.errors import FatalError

_ANSWERS_WITHIN_S: Final = 5.0
_CACHE: Final = "mm2"
_ARCHIVED: Final = "core and SQL"
"""What an archive has: others are made anew when this changes."""


def spark_home() -> Path:
    """
    The folder of the installed PySpark, or the user's own Spark.

    Raises:
        FatalError: there is none.
    """
    folder = require_pyspark()
    if own := os.environ.get("SPARK_HOME"):
        folder = Path(own)
        if not (folder / "bin" / "spark-submit").is_file():
            message = f"SPARK_HOME={own} has no bin/spark-submit: correct it, or unset it"
            raise FatalError(message)
    return folder


def require_pyspark() -> Path:
    """
    The folder of the installed PySpark.

    Raises:
        FatalError: it is not installed.
    """
    found = importlib.util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        message = "PySpark is not installed in this Python environment: pip install 'mm2[spark]'"
        raise FatalError(message)
    return Path(found.submodule_search_locations[0])


def require_java() -> None:
    """
    Makes sure that there is Java.

    Raises:
        FatalError: there is none at ``JAVA_HOME`` or in ``PATH``.
    """
    java, home = java_launcher(), os.environ.get("JAVA_HOME")
    if java is not None and os.access(java, os.X_OK) and java.is_file():
        return
    where = f"JAVA_HOME={home} has no bin/java" if home else "there is no java on the PATH"
    raise FatalError(f"Spark needs Java 17 or 21, and {where}: install it, or correct JAVA_HOME")


def check_master(settings: Mapping[str, str]) -> None:
    """
    Makes sure that a standalone master, or a ResourceManager of YARN, takes connections.

    Spark would wait a minute for the first, and for the other one as long as it takes.

    Raises:
        FatalError: none of its addresses can be connected to.
    """
    # A start, which has no time for it, imports this module.
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    master = settings["spark.master"]
    kind, _, addresses = master.partition("://")
    asked = addresses.split(",") if kind == "spark" else []
    if master == YARN:
        asked = resource_managers(settings)
    with ThreadPoolExecutor(max(1, len(asked))) as threads:  # Silent ones take all of their time.
        reasons = [reason for reason in threads.map(_unreachable, asked) if reason]
    if asked and len(reasons) == len(asked):
        raise FatalError(f"Spark does not start: spark.master={master}: {'; '.join(reasons)}")


def _unreachable(address: str) -> str | None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), _ANSWERS_WITHIN_S).close()
    except (OSError, ValueError) as error:
        return f"{address}: {error}"
    return None


def java_launcher() -> Path | None:
    """Java, where Spark's own scripts look for it."""
    if home := os.environ.get("JAVA_HOME"):
        return Path(home) / "bin" / "java"
    found = shutil.which("java")
    return Path(found) if found else None


def archive_of(java: Path, jars: Sequence[Path]) -> Path:
    """
    Path of the class data archive of these jars for this Java; it may not exist.

    Times count in whole seconds, as the JVM compares them: layers of images keep no more.
    """
    files = [java.resolve(), *jars]
    stats = [(str(file), file.stat().st_size, int(file.stat().st_mtime)) for file in files]
    digest = hashlib.sha256(repr((_ARCHIVED, stats)).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / _CACHE / f"spark-{digest}.jsa"
