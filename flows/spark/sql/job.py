"""
Work that runs in one Spark task with expressions of SQL: Python, SQL and Python again.

The three are one stage, so that rows stream through them; see
``flows.source.transform.sql_chain`` for what they say. Importing this takes half a second: it needs
Arrow.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

import py4j.java_gateway
import py4j.protocol
import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from flows.source.transform.sql_chain import BUFFER, LITERALS, SqlChain, answered
from flows.source.transform.sql_columns import record_type
from flows.spark.sql.expressions import COLUMNS, SqlExpressions

T = TypeVar("T")

_CONF: Final = {
    # A row goes on as soon as it is there. The buffers are of bytes.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.sql.execution.python.udf.buffer.size": f"{BUFFER}",
    "spark.sql.execution.pandas.udf.buffer.size": f"{BUFFER}",
    # Java is generated for the expressions all the same, and compiled sooner without their stage.
    "spark.sql.codegen.wholeStage": "false",
    # Without pandas, which is not needed.
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    # ${env:...} would put what only this process knows into records.
    "spark.sql.variable.substitute": "false",
}
_ZONE: Final = "spark.sql.session.timeZone"


def check_sql(
    context: SparkContext, expressions: Mapping[str, str], provided: Collection[str]
) -> None:
    """
    Has Spark analyse expressions; blocks.

    Args:
        provided: keys of those that have values of providers.

    Raises:
        ConfigError: one of them is wrong, or would be shown by Spark.
    """
    SqlExpressions(_session(context), expressions, provided).check()


def run_with_sql(
    context: SparkContext,
    work: Callable[[], T],
    expressions: Mapping[str, str],
    provided: Collection[str] = (),
    *,
    shows_values: bool = False,
) -> T:
    """
    Runs a job to its end; blocks.

    Args:
        work: runs in a Python worker, where ``sql_chain.CHAIN`` evaluates the expressions; it and
            its result must be picklable.
        expressions: by the column of the copy, or ``where``.
        provided: keys of those that have values of providers.
        shows_values: whether the reason why Spark fails for a record may have parts of the record.

    Raises:
        ConfigError: an expression is wrong, or would be shown by Spark.
        Py4JJavaError: the job ended with an error.
    """
    session = _session(context)
    sql = SqlExpressions(session, expressions, provided, shows_values=shows_values)
    sql.check()
    columns, made_of = sql.columns(), sql.made("records", "made")
    literals = sql.literals

    def run(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in rows:  # Spark uses a worker again that has read all of its input
            pass
        return SqlChain(record_type(columns), literals).run(work)

    record = ", ".join(f"{name}: {COLUMNS[name]}" for name in columns)
    kinds = (
        f"number BIGINT, path STRING, result BINARY, records ARRAY<STRUCT<{record}>>,"
        f" {LITERALS} ARRAY<STRING>, push BINARY"
    )
    sent = _mapped(session.range(0, 1, 1, 1), run, kinds)
    kept = [sent[name]._jc for name in ("number", "path", "result")]  # noqa: SLF001
    jvm: Any = context._jvm  # noqa: SLF001 - columns made of expressions are Java's
    chosen = jvm.PythonUtils.toSeq([*kept, made_of])
    made = DataFrame(sent._jdf.select(chosen), session)  # noqa: SLF001
    java: Any = _mapped(made, answered, "result BINARY")._jdf  # noqa: SLF001 - see there
    # PySpark's ``collect`` would have the stage named by this line, and not as the job is.
    (row,) = java.collect()
    result: T = pickle.loads(row.get(0))  # noqa: S301 - of our own worker
    return result


def _session(context: SparkContext) -> SparkSession:
    """A session of our own, with the user's settings."""
    session = SparkSession(context).newSession()
    # It has PySpark raise other errors than before, also for jobs without SQL, and log them.
    py4j.java_gateway.get_return_value = py4j.protocol.get_return_value
    for key, value in _CONF.items():
        session.conf.set(key, value)
    # What an expression makes of a time is not to depend on the machine that runs the task.
    session.conf.set(_ZONE, context.getConf().get(_ZONE, "UTC"))
    return session


def _mapped(frame: DataFrame, function: Callable[..., Any], schema: str) -> DataFrame:
    """``mapInArrow``, which needs pandas that this does not have."""
    kind = PythonEvalType.SQL_MAP_ARROW_ITER_UDF
    column = UserDefinedFunction(function, returnType=schema, evalType=kind)(
        *(frame[name] for name in frame.columns)
    )
    java: Any = frame._jdf  # noqa: SLF001 - as above
    return DataFrame(java.mapInArrow(column._jc, False, None), frame.sparkSession)  # noqa: SLF001, FBT003
