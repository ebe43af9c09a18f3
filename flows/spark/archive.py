"""
A class data archive of Spark's classes: half of what its JVM does at the start is loading them.

Made once for an installation, by ``./scripts/setup`` or ``python -m flows.spark.archive``, in the
user's cache folder. The JVM checks that it fits the jars and itself, and goes without it otherwise.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_CACHE: Final = "mm2"
_WRITTEN_WITHIN_S: Final = 120.0


def archive_of(java: Path, jars: Sequence[Path]) -> Path:
    """Where the archive of these jars for this Java lies, if it is there."""
    files = [java.resolve(), *jars]
    stats = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    digest = hashlib.sha256(repr(stats).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / _CACHE / f"spark-{digest}.jsa"


def make(archive: Path) -> None:
    """
    Starts Spark, lets it run a job, and has the JVM write down the classes that it needed.

    Raises:
        OSError: the cache folder cannot be written to.
    """
    # PySpark is large; whoever only asks for the path does without.
    from flows.spark.engine import context_of  # noqa: PLC0415
    from flows.spark.jvm import DEFAULTS, Jvm  # noqa: PLC0415

    archive.parent.mkdir(parents=True, exist_ok=True)
    made = archive.with_suffix(f".{os.getpid()}")
    settings = {**DEFAULTS, "spark.master": "local[2]"}
    jvm = Jvm(settings, options=(f"-XX:ArchiveClassesAtExit={made}",))
    try:
        jvm.listen(lambda _: False)
        context = context_of(jvm, settings)
        context.parallelize([1], 1).mapPartitions(lambda numbers: numbers).collect()
        context.stop()
        jvm.end(within_s=_WRITTEN_WITHIN_S)
        made.replace(archive)
    finally:
        jvm.end()
        made.unlink(missing_ok=True)


def main() -> None:
    """Makes the archive if there is none."""
    from flows.spark.installed import java_launcher  # noqa: PLC0415
    from flows.spark.jvm import sparks_jars  # noqa: PLC0415

    java = java_launcher()
    if java is not None and not (archive := archive_of(java, sparks_jars())).exists():
        make(archive)


if __name__ == "__main__":
    main()
