"""Expressions of SQL in the middle of a task of Spark's: what they make of records."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import psutil
import pytest
import pytest_asyncio

from flows.spark.jobs import SparkJobs
from flows.spark.settings import WITH_SQL
from flows.spark.spark_job import JobFailed, SparkJob
from mm2.core.handled_records import SourceRecord
from mm2.errors import ConfigError
from tests.support.eventually import eventually_async
from tests.support.sql_work import TIME, all_ways, endless, never_answered, records

pytestmark = [pytest.mark.spark, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[SparkJobs]:
    """What runs jobs; tests share it, because a JVM takes long to start."""
    engine = SparkJobs({"spark.master": "local[4]", **WITH_SQL}, warm_after_s=60.0)
    try:
        yield engine
    finally:
        await engine.stop()


async def _made(
    engine: SparkJobs,
    sql: Mapping[str, str],
    count: int = 6,
    *,
    is_prepared: bool = False,
    shows_values: bool = False,
) -> Any:
    work = all_ways(count, is_prepared=is_prepared)
    return await engine.run_job(SparkJob("g", "g", work, sql=sql, shows_values=shows_values))


async def test_expressions_make_the_same_of_records_however_they_come(engine: SparkJobs) -> None:
    text = "CAST(value AS STRING)"
    sql = {
        "where": f"get_json_object({text}, '$.type') = 'b' -- of type b",
        "key": "concat(CAST(key AS STRING), '!')",
        "value": f"get_json_object({text}, '$.n')",
        "headers": "filter(headers, h -> h.key != 'x' AND topic = 'A.t')",
        "timestamp": "timestamp + INTERVAL 1 SECOND",
        "topic": "concat(topic, '.b')",
        "partition": "partition + 1",
    }
    (whole, first, second), alone = await _made(engine, sql)
    _, prepared = await _made(engine, sql, is_prepared=True)
    assert whole == [
        SourceRecord(
            topic="A.t.b",
            partition=4,
            offset=100 + number,
            timestamp=TIME + number + 1000,
            key=b"k%d!" % number,
            value=b"%d" % number,
            headers=(("h", b"%d" % number),),
        )
        for number in (1, 3, 5)
    ]
    assert [*first, *second] == whole
    assert [record for each in alone for record in each] == whole
    assert prepared == alone


async def test_null_is_what_a_record_has_not_and_false_for_a_condition(engine: SparkJobs) -> None:
    sql = {"where": "key > 'k'", "value": "NULL"}
    (whole, *_), _ = await _made(engine, sql, 4)
    only_where = {"where": "VALUE LIKE '%a%'"}
    (kept, *_), _ = await _made(engine, only_where, 4)
    (none, *_), _ = await _made(engine, {"where": "CAST(NULL AS BOOLEAN)"}, 4)
    (unseen, *_), _ = await _made(engine, {"timestamp": "timestamp"}, 4)
    assert [(each.offset, each.value) for each in whole] == [(100, None), (101, None), (103, None)]
    assert kept == [record for record in records(4) if b"a" in (record.value or b"")]
    assert none == []
    assert unseen == records(4)


async def test_a_record_that_spark_fails_for_is_told_apart_from_others(engine: SparkJobs) -> None:
    sql = {"value": "CAST(10 DIV (CAST(substring(CAST(key AS STRING), 2) AS INT) - 1) AS STRING)"}
    (whole, *_), alone = await _made(engine, sql, 4)
    _, prepared = await _made(engine, sql, 4, is_prepared=True)
    async with asyncio.timeout(60):
        (again, *_), _ = await _made(engine, {"value": "key"}, 4)
    assert prepared == alone
    reason = "10 DIV (CAST(substring(CAST(key AS STRING), 2) AS INT) - 1) fails; operands: "
    assert f"1 of 4 records: transforms.sql.value: {reason}" in str(whole)
    assert [reason in str(each) for each in alone] == [False, True, False, False]
    assert [each[0].value for each in (alone[0], alone[2], alone[3])] == [b"-10", None, b"5"]
    assert [each.value for each in again] == [b"k0", b"k1", None, b"k3"]


_TEXT: Final = "CAST(key AS STRING)"
_NUMBER: Final = f"CAST({_TEXT} AS INT)"
_IN_HEADERS: Final = "filter(headers, h -> CAST(CAST(h.value AS STRING) AS INT) / 0 > 1)"
_FAILING: Final = (
    ({"key": _NUMBER}, f"key: {_NUMBER} fails", f"; operands: {_TEXT}", f" where {_TEXT} is k1"),
    (
        {"where": f"key IS NULL OR offset + {_NUMBER} > 1"},
        f"where: {_NUMBER} fails",
        f"; operands: {_TEXT}",
        f" where {_TEXT} is k1",
    ),
    # Branches that are constants are such that Spark's optimizer moves what is around them in.
    (
        {"where": f"if({_NUMBER} > 1, true, false)"},
        f"where: if({_NUMBER} > 1, true, false) fails",
        "",
        "",
    ),
    (
        {"where": "true", "value": f"concat({_TEXT}, raise_error({_TEXT}))"},
        f"raise_error({_TEXT}) fails",
        f"; operands: {_TEXT}",
        " is k1",
    ),
    ({"value": f"if(offset = 101, raise_error('odd'), {_NUMBER})"}, "raise_error('odd')", "", ""),
    (
        {"value": f"CASE WHEN offset = 100 THEN {_NUMBER} ELSE raise_error({_TEXT}) END"},
        f"value: CASE WHEN offset = 100 THEN {_NUMBER} ELSE raise_error({_TEXT}) END fails",
        "",
        "",
    ),
    ({"headers": _IN_HEADERS}, f"headers: {_IN_HEADERS} fails", "; operands: headers", " where "),
    (
        {"value": "element_at(split('a', ','), CAST(offset AS INT))"},
        "CAST(offset AS INT)) fails",
        "; operands: split('a', ','), CAST(offset AS INT)",
        " and CAST(offset AS INT) is 101",
    ),
)


async def test_the_reason_is_the_innermost_part_that_fails(engine: SparkJobs) -> None:
    """Values of the record are in it only where they may be logged."""
    for sql, part, operands, values in _FAILING:
        texts = {key: _as_text(key, value) for key, value in sql.items()}
        hidden, shown = [
            (await _made(engine, texts, 2, shows_values=each))[1][1].replace("\\'", "'")
            for each in (False, True)
        ]
        assert all("transforms.sql." in each and part in each for each in (hidden, shown))
        assert f"{part}{operands}" in hidden
        assert "k1" not in hidden
        assert " where " not in hidden
        assert values in shown
        assert "; operands: " not in shown


def _as_text(name: str, expression: str) -> str:
    return f"CAST({expression} AS STRING)" if name in {"key", "value"} else expression


_REFUSED: Final = (
    ({"where": "value LIK 'a'"}, "Syntax error"),
    ({"where": "value LIK 'a'"}, "line 1, pos 10"),
    ({"where": "true /* "}, "transforms.sql.where = true /* : "),
    ({"where": "true) OR (false"}, "Syntax error"),
    ({"value": "valu"}, "valu"),
    ({"value": "records"}, "records"),
    ({"value": "offset"}, "it is BIGINT, and must be STRING or BINARY or NULL"),
    ({"where": "value"}, "it is BINARY, and must be BOOLEAN"),
    ({"value": "CAST(count(*) AS STRING)"}, "other records"),
    ({"value": "CAST(row_number() OVER (ORDER BY key) AS STRING)"}, "other records"),
    ({"value": "explode(array(key))"}, "other records"),
    ({"where": "EXISTS (SELECT 1)"}, "subquery"),
    ({"value": "uuid()"}, "not always the same"),
    ({"where": "timestamp < now()"}, "not always the same"),
    ({"value": "reflect('java.lang.System', 'getenv', 'PATH')"}, "not always the same"),
    ({"value": "java_method('java.lang.System', 'getenv', 'PATH')"}, "not always the same"),
    ({"value": "try_reflect('java.lang.System', 'getenv', 'PATH')"}, "not always the same"),
    ({"value": "to_json(struct(*))"}, "name the columns"),
    ({"value": "key, value"}, "Syntax error"),
)


async def test_expressions_that_cannot_be_are_refused_before_anything_runs(
    engine: SparkJobs,
) -> None:
    for sql, reason in _REFUSED:
        await _check_refusal(engine, sql, reason)


async def test_no_variable_of_the_process_gets_into_records(engine: SparkJobs) -> None:
    texts = ["${env:PATH}", "${system:java.home}", "${spark:spark.master}", "${spark.master}"]
    sql = {"value": "concat_ws(' ', {})".format(", ".join(f"'{each}'" for each in texts))}
    (whole, *_), _ = await _made(engine, sql, 1)
    assert whole[0].value == " ".join(texts).encode()


async def _check_refusal(engine: SparkJobs, sql: Mapping[str, str], reason: str) -> None:
    with pytest.raises(ConfigError) as raised:
        await _made(engine, sql)
    (name,) = sql
    assert raised.value.key == f"transforms.sql.{name}"
    assert raised.value.message.startswith(f"transforms.sql.{name} = {sql[name]}: ")
    assert reason in raised.value.message


async def test_a_task_that_is_killed_fails_its_job_and_the_next_one_is_as_good(
    engine: SparkJobs,
) -> None:
    def work() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def fails() -> None:
        raise ValueError("of the work")

    sql = {"value": "key"}
    for each in (work, fails):
        with pytest.raises(JobFailed) as raised:
            await engine.run_job(SparkJob("g", "g", each, sql=sql))
    assert "ValueError: of the work" in str(raised.value)
    (whole, *_), _ = await _made(engine, sql, 2)
    assert [each.value for each in whole] == [b"k0", b"k1"]


async def test_without_its_other_worker_a_task_ends_and_so_does_one_that_is_cancelled(
    engine: SparkJobs, tmp_path: Path
) -> None:
    sql, lost, cancelled = {"value": "key"}, tmp_path / "lost", tmp_path / "cancelled"
    with pytest.raises(JobFailed):
        await engine.run_job(SparkJob("g", "g", never_answered(lost), sql=sql))
    job = asyncio.ensure_future(engine.run_job(SparkJob("h", "h", endless(cancelled), sql=sql)))
    await _until(lambda: cancelled.exists() and bool(cancelled.read_text()))
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    for file in (lost, cancelled):
        await _until(partial(_is_gone, int(file.read_text())))


def _is_gone(pid: int) -> bool:
    return not psutil.pid_exists(pid)


async def _until(is_so: Callable[[], bool]) -> None:
    async def look() -> bool:
        return is_so()

    await eventually_async(look)
