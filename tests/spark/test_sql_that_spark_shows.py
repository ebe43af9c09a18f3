"""Spark's event log and web interface have expressions of SQL, and not what providers gave."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest

from flows.spark.jobs import SparkJobs
from flows.spark.settings import WITH_SQL
from flows.spark.spark_job import SparkJob
from mm2.config.text.expressions import RESOLVED
from mm2.core.handled_records import SourceRecord
from mm2.errors import ConfigError
from tests.support.sql_work import all_ways, records

pytestmark = pytest.mark.spark

_SALT: Final = "p3pper-of-the-test"
_OTHER: Final = "an0ther-of-the-test"


async def _made(engine: SparkJobs, sql: Mapping[str, str], *provided: str) -> list[SourceRecord]:
    keys = [f"transforms.sql.{name}" for name in provided]
    job = SparkJob("g", "g", all_ways(4, is_prepared=False), keys, sql)
    (whole, *_), _ = await engine.run_job(job)
    found: list[SourceRecord] = whole
    return found


def _settings(folder: Path) -> dict[str, str]:
    return {
        "spark.master": "local[4]",
        "spark.eventLog.enabled": "TRUE",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        **WITH_SQL,
    }


def _event_log(folder: Path) -> str:
    (file,) = folder.glob("local-*")
    return file.read_text()


_REFUSED: Final = (
    f"concat(value, X'{_SALT.encode().hex()}')",
    f"CAST(named_struct('{_SALT}', key)['{_SALT}'] AS BINARY)",
    f"concat('{_SALT}', CAST(named_struct('a', key) AS STRUCT<`{_OTHER}`: BINARY>).`{_OTHER}`)",
)


async def test_salts_of_providers_count_and_are_not_in_the_event_log(tmp_path: Path) -> None:
    for value, name in ((_SALT, "salt"), (_OTHER, "other")):
        RESOLVED.remember(value, f"${{file:x:{name}}}")
    headers = f"filter(headers, h -> h.key != 'x' AND h.key != '{_OTHER}')"
    hashed = f"sha2(concat(key, '{_SALT}'), 256)"
    engine = SparkJobs(_settings(tmp_path), warm_after_s=60.0)
    try:
        sql = {"value": hashed, "headers": headers, "where": f"topic != '{_OTHER}'"}
        made = await _made(engine, sql, "value", "headers", "where")
        for text in _REFUSED:
            with pytest.raises(ConfigError, match="Spark would show what a provider gives") as told:
                await _made(engine, {"value": text}, "value")
            assert _SALT not in str(told.value)
        assert await _made(engine, {"value": "concat(key, X'00')"})
    finally:
        await engine.stop()
    salt = _SALT.encode()
    assert [(each.value, each.headers) for each in made] == [
        (
            None if each.key is None else sha256(each.key + salt).hexdigest().encode(),
            each.headers[:1],
        )
        for each in records(4)
    ]
    log = _event_log(tmp_path)
    assert "sha2(" in log
    assert not [each for each in (_SALT, _OTHER, salt.hex()) if each in log]


async def test_a_reason_quotes_nothing_that_a_provider_gave(tmp_path: Path) -> None:
    RESOLVED.remember(_SALT, "${file:x:salt}")
    text = f"CAST(CAST(concat(CAST(key AS STRING), '{_SALT}') AS INT) AS STRING)"
    hidden = text.replace(_SALT, "${file:x:salt}")
    plain, keys = {"spark.master": "local[4]", **WITH_SQL}, ["transforms.sql.value"]
    for settings, provided in ((_settings(tmp_path), keys), (plain, keys), (plain, [])):
        engine = SparkJobs(settings, warm_after_s=60.0)
        try:
            work = all_ways(2, is_prepared=False)
            job = SparkJob("g", "g", work, provided, {"value": text}, shows_values=True)
            _, alone = await engine.run_job(job)
        finally:
            await engine.stop()
        assert "transforms.sql.value" in str(alone)
        assert _SALT not in str(alone)
        assert (hidden in str(alone).replace("\\'", "'")) == bool(provided)
    assert _SALT not in _event_log(tmp_path)


async def test_where_spark_shows_nothing_providers_may_give_anything() -> None:
    RESOLVED.remember(_SALT, "${file:x:salt}")
    engine = SparkJobs({"spark.master": "local[4]", **WITH_SQL}, warm_after_s=60.0)
    try:
        made = [await _made(engine, {"value": text}, "value") for text in _REFUSED[:2]]
    finally:
        await engine.stop()
    assert made[0][0].value == (records(1)[0].value or b"") + _SALT.encode()
    assert made[1][0].value == b"k0"
