"""
A class data archive of Spark's classes: half of what its JVM does at the start is loading them.

Made once for an installation, by ``./scripts/setup`` or ``python -m flows.spark.archive``: 160 MB
in the user's cache folder, more than half of it for SQL. The JVM checks that it fits the jars and
itself, reads what it needs, and ignores any other. Of the archives of several installations, those
that were used last are kept.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Final

from flows.spark.installed import archive_of, java_launcher
from flows.spark.jvm import DEFAULTS, Jvm, sparks_jars

_WRITTEN_WITHIN_S: Final = 120.0
_KEPT: Final = 3
_EXPRESSIONS: Final = {
    "where": "CAST(value AS STRING) NOT LIKE '%a%'",
    "value": "upper(get_json_object(CAST(value AS STRING), '$.a'))",
    "headers": "filter(headers, h -> h.key != 'a')",
}
"""So that the classes are in the archive that most expressions need."""


def make(archive: Path) -> None:
    """
    Starts Spark, lets it run jobs, and has the JVM write down the classes that it needed.

    Raises:
        OSError: the cache folder cannot be written to.
    """
    # PySpark takes long to import, and is not needed where the archive is there.
    from flows.spark.context import context_of  # noqa: PLC0415
    from flows.spark.sql.job import run_with_sql  # noqa: PLC0415

    archive.parent.mkdir(parents=True, exist_ok=True)
    made = archive.with_suffix(f".{os.getpid()}")
    settings = {**DEFAULTS, "spark.master": "local[2]"}
    jvm = Jvm(settings, options=(f"-XX:ArchiveClassesAtExit={made}",))
    try:
        jvm.listen(lambda _: False)
        context = context_of(jvm, settings)
        context.parallelize([1], 1).mapPartitions(lambda numbers: numbers).collect()
        run_with_sql(context, _evaluate, _EXPRESSIONS)
        context.stop()
        jvm.end(within_s=_WRITTEN_WITHIN_S)
        made.replace(archive)
        prune(archive.parent)
    finally:
        jvm.end()
        made.unlink(missing_ok=True)


def _evaluate() -> None:
    """Has Spark evaluate the expressions for one record."""
    import pyarrow as pa  # noqa: PLC0415 - in the worker

    from flows.source.transform.sql_chain import CHAIN  # noqa: PLC0415

    chain = CHAIN.get()
    assert chain is not None  # noqa: S101 - in its midst
    asyncio.run(chain.evaluate(pa.array([{"offset": 0}], chain.record)))


def prune(folder: Path) -> None:
    """Deletes all archives but the few that were made or used last."""
    found = sorted(folder.glob("spark-*.jsa"), key=lambda file: file.stat().st_mtime_ns)
    for file in found[:-_KEPT]:
        file.unlink(missing_ok=True)


def main() -> None:
    """Makes the archive if there is none."""
    java = java_launcher()
    if java is not None and not (archive := archive_of(java, sparks_jars())).exists():
        print("Archiving Spark's classes, for a minute or two ...", flush=True)  # noqa: T201
        make(archive)


if __name__ == "__main__":
    main()
