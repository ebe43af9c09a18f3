"""The private attributes of PySpark that mm2 needs are few, and the releases tried have them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from pyspark import SparkContext

import flows.spark

_PRIVATE = re.compile(r"\b(?:context|SparkContext)\.(_[a-z]\w+)")
_NEEDED = {
    "context.py": {"_active_spark_context", "_gateway", "_jsc", "_jvm"},
    "jobs.py": {"_gateway"},
    "live_slots.py": {"_jsc"},
    "sql_job.py": {"_jvm"},
    "standalone_master.py": {"_jsc", "_jvm"},
}


def test_no_others_are_needed() -> None:
    folder = Path(flows.spark.__file__).parent
    found = {path.name: set(_PRIVATE.findall(path.read_text())) for path in folder.glob("*.py")}
    assert {name: needed for name, needed in found.items() if needed} == _NEEDED


def test_pyspark_has_them() -> None:
    source = inspect.getsource(SparkContext)
    for name in set().union(*_NEEDED.values()):
        assert re.search(rf"\b(?:self|cls|SparkContext)\.{name}\b", source), name
