"""Heartbeats pass the user's handler, Arrow function and SQL unchanged, and only heartbeats do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import replace
from typing import cast

import pyarrow as pa
import pytest

from flows.source.transform.column_handle import ColumnHandle, compile_columns
from flows.source.transform.handler_batches import compile_handler_batches
from flows.source.transform.message_handler import Handle, handled
from flows.source.transform.sql_chain import CHAIN, SqlChain
from flows.source.transform.sql_columns import record_type
from flows.source.transform.topic_transforms import TopicTransforms
from mm2.config.connector_settings import TransformSettings
from mm2.core.internal_records import Heartbeat
from mm2.core.model import ClusterAlias, TopicName
from mm2.core.transforms.column_schema import columns_of
from tests.support.batches import Plain, read_batch, write_batch
from tests.support.configs import A_TO_B
from tests.support.stage_bench import StageBench
from tests.support.transform_chains import record

_BEAT = Heartbeat(ClusterAlias("C"), ClusterAlias("A"), 5)
_MADE = pa.struct({"made": pa.struct({"value": pa.binary()}), "failed": pa.binary()})
_MARK = {
    "transforms": "mark",
    "transforms.mark.type": "InsertHeader",
    "transforms.mark.header": "h",
    "transforms.mark.value.literal": "x",
}
_SQL = TransformSettings(sql_value="of the test")
_ARROW = TransformSettings(function="tests.support.arrow_functions:fan_out")
_CODE = {
    "handler": TransformSettings(handler="tests.support.user_handlers:fan_out"),
    "async": TransformSettings(handler="tests.support.user_handlers:fan_out_later"),
    "arrow": _ARROW,
    "sql": _SQL,
}
_each_kind = pytest.mark.parametrize("settings", _CODE.values(), ids=list(_CODE))


class _Spark:
    """Changes numbers, and fails for all else."""

    record = record_type(["value"])

    async def evaluate(self, records: pa.StructArray) -> pa.StructArray:
        values = [int(each["value"]) for each in records.to_pylist()]
        return pa.array([{"made": {"value": b"%d.0" % each}} for each in values], _MADE)


@pytest.fixture(autouse=True)
async def _prepared() -> AsyncIterator[None]:
    compile_columns()
    compile_handler_batches()
    token = CHAIN.set(cast("SqlChain", _Spark()))
    yield
    CHAIN.reset(token)


def _handle(settings: TransformSettings, topic: str = "heartbeats") -> Handle:
    found = TopicTransforms(A_TO_B, settings).of(TopicName(topic), TopicName(f"A.{topic}"))
    assert found is not None
    return found


def _records(count: int, beats: Collection[int]) -> list[Plain]:
    """Heartbeats and numbers, with gaps between their offsets."""
    return [
        Plain(offset=3 * at, key=_BEAT.key(), value=_BEAT.value(), timestamp=7)
        if at in beats
        else Plain(offset=3 * at, value=b"%d" % at)
        for at in range(count)
    ]


def _copies(settings: TransformSettings, each: Plain) -> list[bytes | None]:
    if each.key is not None:
        return [each.value]
    number = each.offset // 3
    return [b"%d.%d" % (number, copy) for copy in range(1 if settings.sql else number % 4)]


@_each_kind
@pytest.mark.parametrize(
    ("count", "beats"),
    [(6, (0, 3)), (200, (0, 77, 78, 199)), (200, ()), (200, range(200)), (1, (0,))],
)
async def test_they_are_copied_as_they_are_in_their_places(
    settings: TransformSettings, count: int, beats: Collection[int]
) -> None:
    bench, records = StageBench(_handle(settings)), _records(count, beats)
    await bench.copy(write_batch(records))
    assert bench.partition.error is None
    copies = {each.offset: _copies(settings, each) for each in records}
    assert [
        (offset, each.key, each.value)
        for batch in bench.sent
        for offset, each in zip(batch.offsets, read_batch(batch.data), strict=True)
    ] == [(each.offset, each.key, value) for each in records for value in copies[each.offset]]
    assert bench.partition.fetch.position == 3 * count - 2
    assert bench.partition.progress.left_out == list(copies.values()).count([])
    covers = [batch.covers or range(0) for batch in bench.sent]
    assert [each.start for each in covers] == [0, *(each.stop for each in covers[:-1])]
    assert covers[-1].stop == 3 * count - 2


@_each_kind
@pytest.mark.parametrize("provenance", [False, True])
async def test_transforms_that_read_no_json_are_applied_to_them(
    settings: TransformSettings, *, provenance: bool
) -> None:
    beat = record(key=_BEAT.key(), value=_BEAT.value())
    handle = _handle(replace(settings, connect=_MARK, provenance=provenance))
    assert await handled(handle, beat) == [beat.replace(headers=(("h", b"x"),))]


@_each_kind
async def test_a_heartbeat_in_a_topic_of_another_name_is_a_record_like_any(
    settings: TransformSettings,
) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        await handled(_handle(settings, "orders"), record(key=_BEAT.key(), value=_BEAT.value()))


@pytest.mark.parametrize("settings", [_ARROW, _SQL], ids=["arrow", "sql"])
async def test_what_is_only_as_long_as_a_heartbeat_is_changed_as_columns_like_any(
    settings: TransformSettings,
) -> None:
    """A user's topic whose name ends in ``heartbeats`` stays fast."""
    handle = _handle(settings, "iot.heartbeats")
    assert isinstance(handle, ColumnHandle)
    numbers = [record(value=b"%010d" % (4 * n + 1)).replace(offset=n) for n in range(100)]
    beats = [record(key=_BEAT.key(), value=_BEAT.value()).replace(offset=100)]
    made = handle.change(columns_of(numbers + beats))
    assert not isinstance(made, pa.RecordBatch)
    values = (await made).column("value").to_pylist()
    assert values == [b"%d.0" % (4 * n + 1) for n in range(100)] + [_BEAT.value()]
