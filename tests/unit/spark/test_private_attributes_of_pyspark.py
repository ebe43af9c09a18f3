"""What mm2 needs of PySpark that is not public is little, and the releases tried have it."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final
from zipfile import ZipFile

import py4j.java_gateway
import py4j.protocol
import pytest
from pyspark import SparkConf, SparkContext
from pyspark.errors.exceptions.captured import install_exception_handler
from pyspark.sql import SparkSession
from pyspark.sql.classic import column as classic_column
from pyspark.sql.classic import dataframe as classic_dataframe
from pyspark.sql.pandas.map_ops import PandasMapOpsMixin
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

import flows.spark
from flows.spark.jvm import sparks_jars

_FOLDER: Final = Path(flows.spark.__file__).parent
_NEEDED: Final = {
    "accumulators.py": {"_jsc", "_jvm"},
    "context.py": {"_active_spark_context", "_gateway", "_jsc", "_jvm"},
    "decommissioning.py": {"_jsc"},
    "jobs.py": {"_gateway"},
    "live_slots.py": {"_jsc"},
    "sql/expressions.py": {"_jdf", "_jvm"},
    "sql/job.py": {"_jc", "_jdf", "_jvm"},
    "standalone_master.py": {"_jsc", "_jvm"},
    "submitted.py": {"_jvm"},
}
_OF_CONTEXT: Final = {"_active_spark_context", "_gateway", "_jsc", "_jvm"}
_REPLACED: Final = {
    "context.py": {f"SparkContext.{name}" for name in _OF_CONTEXT - {"_jsc"}},
    "sql/job.py": {"py4j.java_gateway.get_return_value"},
}
_OF_OS: Final = {"_exit"}
_CLASSES: Final = (
    "catalyst/analysis/UnresolvedAttribute",
    "catalyst/analysis/UnresolvedFunction",
    "catalyst/expressions/CaseWhen",
    "catalyst/expressions/Coalesce",
    "catalyst/expressions/CreateNamedStruct",
    "catalyst/expressions/If",
    "catalyst/expressions/IsNull",
    "catalyst/expressions/LambdaFunction",
    "catalyst/expressions/Literal",
    "catalyst/expressions/TryEval",
    "catalyst/expressions/UnresolvedNamedLambdaVariable",
    "catalyst/parser/CatalystSqlParser",
    "catalyst/trees/TreePattern",
    "classic/ExpressionUtils",
)


def _nodes() -> Iterator[tuple[str, ast.AST]]:
    for path in _FOLDER.rglob("*.py"):
        yield from (
            (str(path.relative_to(_FOLDER)), node) for node in ast.walk(ast.parse(path.read_text()))
        )


def _is_own(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"self", "cls"}


def test_no_others_are_needed() -> None:
    found: dict[str, set[str]] = {}
    for file, node in _nodes():
        match node:
            case ast.Attribute(value=of, attr=str(name)) if not _is_own(of):
                pass
            case ast.keyword(arg=str(name)):
                pass
            case _:
                continue
        if re.match(r"_[a-z]", name) and name not in _OF_OS:
            found.setdefault(file, set()).add(name)
    assert found == _NEEDED


def test_nothing_else_of_pyspark_is_replaced() -> None:
    found: dict[str, set[str]] = {}
    for file, node in _nodes():
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if (name := ast.unparse(target)).startswith(("SparkContext.", "py4j.", "pyspark.")):
                found.setdefault(file, set()).add(name)
    assert found == _REPLACED


def test_pyspark_has_them() -> None:
    source = inspect.getsource(SparkContext)
    for name in _OF_CONTEXT:
        assert re.search(rf"\b(?:self|cls|SparkContext)\.{name}\b", source), name
    assert set().union(*_NEEDED.values()) == _OF_CONTEXT | {"_jc", "_jdf"}


@pytest.mark.parametrize(("module", "name"), [(classic_dataframe, "_jdf"), (classic_column, "_jc")])
def test_frames_and_columns_have_those_of_java(module: ModuleType, name: str) -> None:
    assert re.search(rf"self\.{name}\b[^=\n]*= ", inspect.getsource(module))


def test_a_configuration_may_be_that_of_a_jvm() -> None:
    assert "_jvm" in inspect.signature(SparkConf).parameters


def test_a_session_replaces_what_raises_errors_and_what_it_was_can_be_put_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = py4j.protocol.get_return_value
    monkeypatch.setattr(py4j.java_gateway, "get_return_value", original)
    install_exception_handler()
    assert py4j.java_gateway.get_return_value is not original
    assert py4j.protocol.get_return_value is original
    assert "install_exception_handler()" in inspect.getsource(SparkSession)
    assert "= get_return_value(" in inspect.getsource(py4j.java_gateway.JavaMember)


def test_java_maps_in_arrow_as_pyspark_calls_it() -> None:
    source = inspect.getsource(PandasMapOpsMixin.mapInArrow)
    assert "self._jdf.mapInArrow(udf_column._jc, barrier, jrp)" in source
    assert "PythonEvalType.SQL_MAP_ARROW_ITER_UDF" in source
    assert isinstance(PythonEvalType.SQL_MAP_ARROW_ITER_UDF, int)
    wanted = {"func", "returnType", "evalType"}
    assert wanted <= inspect.signature(UserDefinedFunction).parameters.keys()


def test_spark_has_the_classes_that_expressions_are_made_of() -> None:
    jars = [jar for jar in sparks_jars() if jar.name.startswith(("spark-catalyst", "spark-sql"))]
    names = {name for jar in jars for name in ZipFile(jar).namelist()}
    assert [each for each in _CLASSES if f"org/apache/spark/sql/{each}.class" not in names] == []
