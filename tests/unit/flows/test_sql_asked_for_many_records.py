"""SQL whose records go on one by one is asked for many at a time, and nothing else changes."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pyarrow as pa
import pytest
from crc32c import crc32c
from structlog.testing import capture_logs

from flows.source.transform.column_handle import compile_columns
from flows.source.transform.message_handler import Handle, handled
from flows.source.transform.sql_chain import CHAIN, SqlChain
from flows.source.transform.sql_columns import record_type, sql_transform
from flows.source.transform.topic_transforms import TopicTransforms
from mm2.config.connector_settings import TransformSettings
from mm2.core.model import TopicName
from mm2.core.transforms.column_schema import one_row
from mm2.errors import TransformError
from tests.support.batches import Plain, read_batch, write_batch
from tests.support.configs import A_TO_B
from tests.support.specs import error_settings
from tests.support.stage_bench import StageBench
from tests.support.transform_chains import record

_COUNT = 200
_MADE = pa.struct({"made": pa.struct({"value": pa.binary()}), "failed": pa.binary()})
_MASK = {
    "transforms": "mask",
    "transforms.mask.type": "MaskField$Value",
    "transforms.mask.fields": "f",
}
_ALONE = TransformSettings(sql_value="of the test")
_PLAIN = TransformSettings(sql_value="of the test", provenance=True)
_CASES = {
    "provenance": _PLAIN,
    "json": TransformSettings(sql_value="of the test", connect=_MASK),
    "both": TransformSettings(sql_value="of the test", connect=_MASK, provenance=True),
}


class _Spark:
    """
    Leaves out each fifth record, fails for each seventh, and adds a field to the others.

    Attributes:
        silent: for which it gives no answer at all.
    """

    def __init__(self) -> None:
        self.silent: set[int] = set()
        self.record = record_type(["value", "headers", "offset"])
        self.requests: list[int] = []

    async def evaluate(self, records: pa.StructArray) -> pa.StructArray:
        self.requests.append(len(records))
        return pa.array(list(map(self._made, records.to_pylist())), _MADE)

    def _made(self, row: dict[str, Any]) -> dict[str, Any] | None:
        found = json.loads(row["value"])
        if found["n"] in self.silent:
            return None
        if found["n"] % 7 == 0:
            return {"made": None, "failed": b"seven \xff"}
        value = json.dumps(found | {"headers": len(row["headers"])}).encode()
        return {"made": {"value": value} if found["n"] % 5 else None}


@pytest.fixture
def spark() -> Iterator[_Spark]:
    found = _Spark()
    token = CHAIN.set(cast("SqlChain", found))
    yield found
    CHAIN.reset(token)


def _record(at: int, *headers: tuple[bytes, bytes]) -> Plain:
    return Plain(offset=at, value=b'{"n": %d, "f": "x"}' % at, headers=headers)


def _from_elsewhere(at: int) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"mm2.source.cluster", b"B"),) if at % 3 == 0 else ()


async def _copied(handle: Handle, *batches: bytes) -> Any:
    bench = StageBench(handle, errors=error_settings(tolerates=True))
    await bench.copy(*batches)
    sent = [(each.covers, read_batch(each.data)) for each in bench.sent]
    return sent, bench.partition.progress.skipped, bench.partition.fetch.position


@pytest.mark.parametrize("settings", _CASES.values(), ids=list(_CASES))
@pytest.mark.parametrize("each", [_COUNT, 10, 1])
async def test_it_takes_few_requests_and_the_copies_are_the_same(
    spark: _Spark, settings: TransformSettings, each: int
) -> None:
    made = [_record(at, *_from_elsewhere(at)) for at in range(_COUNT)]
    batches = [write_batch(made[at : at + each]) for at in range(0, _COUNT, each)]
    handle = TopicTransforms(A_TO_B, settings).of(TopicName("t"), TopicName("A.t"))
    assert handle is not None
    alone = await _copied(partial(handle), *batches)  # which is told of nothing
    assert len(spark.requests) >= _COUNT / 2
    assert set(spark.requests) == {1}
    spark.requests.clear()
    together = await _copied(handle, *batches)
    assert together == alone
    failed = [at for at in range(_COUNT) if at % 7 == 0]
    many = [count for count in spark.requests if count > 1]
    assert 1 <= len(many) <= 2
    assert len(spark.requests) - len(many) <= len(failed)


@pytest.mark.parametrize("count", [1, 30])
async def test_why_spark_fails_is_in_the_log(spark: _Spark, count: int) -> None:
    """Of a batch the first reason, once; of the record in question its own."""
    assert spark.requests == []
    compile_columns()
    handle = TopicTransforms(A_TO_B, _ALONE).of(TopicName("t"), TopicName("A.t"))
    assert handle is not None
    with capture_logs() as logs:
        await _copied(handle, write_batch([_record(at) for at in range(count)]))
    batches = [each["reason"] for each in logs if each["event"] == "source.columns_failed"]
    skipped = [each["error"] for each in logs if each["event"] == "source.record_skipped"]
    failed = range(0, count, 7)
    many = f"Spark's SQL fails for {len(failed)} of {count} records: seven \ufffd"
    assert batches == [repr(TransformError("seven \ufffd" if count == 1 else many))]
    assert skipped == [
        f"the transform fails at offset {at}: TransformError('seven \ufffd')" for at in failed
    ]


async def test_a_record_without_an_answer_fails_and_is_not_left_out(spark: _Spark) -> None:
    spark.silent.add(2)
    transform = sql_transform()
    assert transform.ahead is not None
    first, silent = (record(value=b'{"n": %d}' % n) for n in (1, 2))
    silent = replace(silent, offset=first.offset + 1)
    await transform.ahead([first, silent])
    assert len(await handled(transform, first)) == 1
    assert spark.requests == [2]
    for ask in (transform.change(one_row(silent)), handled(transform, silent)):
        with pytest.raises(TransformError, match="does not say what becomes of the record"):
            await ask


async def test_answers_of_records_that_were_there_before_count_for_no_others(
    spark: _Spark,
) -> None:
    """A topic that is created again has the same offsets."""
    transform = sql_transform()
    assert transform.ahead is not None
    before, after = (record(value=b'{"n": %d}' % n) for n in (1, 2))
    await transform.ahead([before])
    found: Any = transform(after)
    (made,) = await found
    assert json.loads(made.value)["n"] == 2


async def test_a_batch_that_cannot_be_read_holds_up_none_before_it(spark: _Spark) -> None:
    handle = TopicTransforms(A_TO_B, _PLAIN).of(TopicName("t"), TopicName("A.t"))
    assert handle is not None
    good = write_batch([_record(at) for at in (1, 2)])
    odd = bytearray(write_batch([_record(3)], codec_number=4))
    bench = StageBench(handle)
    await bench.copy(good, _damaged(odd))
    assert len(bench.values) == 2
    assert bench.partition.fetch.position == 3


def _damaged(batch: bytearray) -> bytes:
    """With a right checksum, and a codec that cannot read it."""
    batch[22] = (batch[22] & ~7) | 1
    struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
    return bytes(batch)
