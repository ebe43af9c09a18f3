"""What this machine must have to run a mirror: Java and Spark."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from flows.spark.installed import (
    check_master,
    java_launcher,
    require_java,
    require_pyspark,
    spark_home,
)
from mm2.core.checks import Check
from mm2.errors import FatalError

_ABOUT: Final = "host"
_JAVAS: Final = (17, 21)
_RELEASE: Final = re.compile(r'version "(?:1\.)?(\d+)')
_ANSWERS_WITHIN_S: Final = 20.0


async def host_checks(spark: Mapping[str, str]) -> list[Check]:
    """Looks for Java and Spark; starts neither."""
    return [await _java(), _pyspark(), *await asyncio.to_thread(_master, spark)]


async def _java() -> Check:
    try:
        require_java()
    except FatalError as error:
        return _error("java", str(error), "Install a JDK, for example openjdk-21-jre-headless.")
    java = java_launcher()
    release = await _release(str(java))
    if release in _JAVAS:
        return _ok("java", f"{java} is Java {release}")
    remedy = "Install Java 17 or 21, and let JAVA_HOME lead to it."
    return _error("java", f"{java} is Java {release}, and Spark 4 needs 17 or 21", remedy)


async def _release(java: str) -> int | None:
    """The release of a Java; None if it does not say."""
    process = await asyncio.create_subprocess_exec(
        java, "-version", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            _, text = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return None
    found = _RELEASE.search(text.decode(errors="replace"))
    return int(found[1]) if found else None


def _pyspark() -> Check:
    try:
        require_pyspark()
        home = spark_home()
        return _ok("spark", f"PySpark {version('pyspark')} in {home}")
    except FatalError as error:
        return _error("spark", str(error), "pip install 'mm2[spark]'")
    except PackageNotFoundError:
        return _ok("spark", "PySpark, of an unknown release")


def _master(spark: Mapping[str, str]) -> list[Check]:
    master = spark.get("spark.master", "")
    if not master:
        return []
    try:
        check_master(spark)
    except FatalError as error:
        return [_error("spark-master", str(error), "Start the master, or correct spark.master.")]
    return [_ok("spark-master", f"spark.master = {master}")]


def _ok(check: str, message: str) -> Check:
    return Check.go(check, _ABOUT, message)


def _error(check: str, message: str, remedy: str) -> Check:
    return Check.no_go(check, _ABOUT, message, remedy=remedy)
