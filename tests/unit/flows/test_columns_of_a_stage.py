"""What becomes of fetched records that are changed as columns: the same as one by one."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from crc32c import crc32c
from structlog.testing import capture_logs

from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.merge_batches import MergePolicy
from flows.source.forward.overlap import Overlap
from flows.source.send.send_queue import PartitionSender
from flows.source.transform.column_handle import ColumnHandle, compile_columns
from flows.source.transform.column_transforms import of_chain, user_function
from mm2.core.handled_records import SourceRecord, TargetRecord
from mm2.core.model import TopicName, TopicPartition
from tests.support.batches import Plain, read_batch, write_batch
from tests.support.eventually import eventually_async
from tests.support.specs import error_settings
from tests.support.stage_bench import KnownRoutes, StageBench, numbered
from tests.support.transform_chains import chain_of

FUNCTIONS = "tests.support.arrow_functions"


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    compile_columns()


def never(record: SourceRecord) -> list[SourceRecord]:
    raise AssertionError(f"{record} was changed by itself")


def columns_only(name: str) -> ColumnHandle:
    """An Arrow function that gets no record alone."""
    return replace(user_function(f"{FUNCTIONS}:{name}", "m."), handle=never)


def in_arrow(name: str) -> ColumnHandle:
    return user_function(f"{FUNCTIONS}:{name}", "m.")


async def test_rows_are_added_and_dropped_in_order_with_the_offsets_of_their_records() -> None:
    bench = StageBench(columns_only("fan_out"))
    await bench.copy(numbered(0, 1, 2), numbered(3, 4, 5))
    assert bench.values == [b"1.0", b"2.0", b"2.1", b"3.0", b"3.1", b"3.2", b"5.0"]
    (batch,) = bench.sent
    assert list(batch.offsets) == [1, 2, 2, 3, 3, 3, 5]
    assert batch.covers == range(6)
    assert bench.partition.progress.left_out == 2


async def test_a_class_is_initialised_and_changes_all_rows() -> None:
    bench = StageBench(columns_only("Marks"))
    await bench.copy(numbered(0, 1))
    assert bench.values == [b"m.0", b"m.1"]


async def test_what_is_fetched_while_rows_are_changed_is_changed_together() -> None:
    changes: list[list[int]] = []
    go_on = asyncio.Event()

    async def change(rows: pa.RecordBatch) -> pa.RecordBatch:
        changes.append(rows.column("offset").to_pylist())
        await go_on.wait()
        return rows

    bench = StageBench(ColumnHandle(never, change))
    async with bench.running():
        for offset in range(5):
            bench.take(numbered(offset))
        await eventually_async(lambda: asyncio.sleep(0, changes))
        bench.take(numbered(5, 6))
        go_on.set()
    assert changes == [[0], [1, 2, 3, 4, 5, 6]]
    assert bench.values == [b"%d" % n for n in range(7)]
    assert [batch.covers for batch in bench.sent] == [range(1), range(1, 7)]
    assert (bench.budget.used, bench.partition.progress.queued) == (
        sum(batch.size for batch in bench.sent),
        sum(batch.size for batch in bench.sent),
    )


def _requests() -> tuple[ColumnHandle, list[int]]:
    """What changes nothing, and how many rows it gets at a time."""
    counts: list[int] = []

    def change(rows: pa.RecordBatch) -> pa.RecordBatch:
        counts.append(len(rows))
        return rows

    return ColumnHandle(never, change), counts


async def test_a_megabyte_that_was_fetched_is_changed_together() -> None:
    handle, counts = _requests()
    bench = StageBench(handle)
    records = [Plain(offset=at, value=b"%06d" % at * 10_000) for at in range(15)]
    await bench.copy(*(write_batch([each]) for each in records))
    assert counts == [15]
    assert bench.values == [each.value for each in records]


async def test_batches_that_are_too_large_together_are_halved_until_they_are_not() -> None:
    """A few bytes that were fetched may be many megabytes."""
    handle, counts = _requests()
    bench = StageBench(handle)
    records = [Plain(offset=at, value=b"%06d" % at * 200_000) for at in range(16)]
    await bench.copy(*(write_batch([each], codec_number=4) for each in records))
    assert counts == [2] * 8
    assert bench.values == [each.value for each in records]
    assert bench.partition.fetch.position == 16


async def test_batches_of_which_no_row_is_left_are_passed_over() -> None:
    bench = StageBench(columns_only("fan_out"))
    await bench.copy(numbered(0, 4, 8))
    assert bench.sent == []
    assert bench.partition.progress.mirrored == 8
    assert bench.partition.progress.left_out == 3
    assert bench.budget.used == 0


async def test_batches_keep_their_codec_and_their_limit() -> None:
    bench = StageBench(columns_only("Marks"), policy=MergePolicy(most_bytes=20))
    await bench.copy(numbered(0, 1, codec=4), numbered(2, 3, 4, 5, codec=1))
    assert [list(batch.offsets) for batch in bench.sent] == [[0, 1], [2, 3], [4, 5]]
    assert [batch.covers for batch in bench.sent] == [range(2), range(2, 4), range(4, 6)]
    assert [batch.data[22] & 7 for batch in bench.sent] == [4, 1, 1]


async def test_a_batch_that_ends_inside_a_record_covers_it_only_with_its_last_row() -> None:
    bench = StageBench(columns_only("fan_out"), policy=MergePolicy(most_bytes=24))
    await bench.copy(numbered(2, 3))
    assert [list(batch.offsets) for batch in bench.sent] == [[2, 2], [3, 3], [3]]
    assert [batch.covers for batch in bench.sent] == [range(2, 3), range(3, 3), range(3, 4)]
    assert [batch.is_partial for batch in bench.sent] == [False, True, False]


async def test_only_the_record_that_a_function_fails_for_is_an_error() -> None:
    bench = StageBench(in_arrow("shout"), errors=error_settings(tolerates=True))
    values = [b"a", b"drop", b"bad", b"c", b"\xff", b"e"]
    await bench.copy(write_batch([Plain(offset=at, value=v) for at, v in enumerate(values)]))
    assert bench.values == [b"A", b"C", b"E"]
    assert bench.partition.progress.skipped == 2
    assert [batch.covers for batch in bench.sent][-1] == range(5, 6)


async def test_without_tolerance_the_partition_stops_at_the_record_and_says_why() -> None:
    bench = StageBench(in_arrow("shout"))
    await bench.copy(
        write_batch([Plain(offset=at, value=v) for at, v in enumerate([b"a", b"bad"])])
    )
    assert bench.values == [b"A"]
    assert bench.partition.error is not None
    assert "fails at offset 1: ValueError('no such record')" in bench.partition.error
    assert bench.partition.fetch.position == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("renames_a_column", "it has no columns key"),
        ("as_text", "column value is string: cast it to binary"),
        ("as_table", "a pyarrow.RecordBatch is needed, not Table"),
    ],
)
async def test_a_function_that_returns_other_columns_stops_the_partition(
    name: str, reason: str
) -> None:
    bench = StageBench(in_arrow(name))
    await bench.copy(numbered(0, 1))
    assert bench.sent == []
    assert bench.partition.error is not None
    assert reason in bench.partition.error


async def test_rows_in_another_order_are_tried_one_by_one() -> None:
    bench = StageBench(in_arrow("backwards"))
    await bench.copy(numbered(0, 1, 2))
    assert bench.values == [b"0", b"1", b"2"]


async def test_a_function_that_never_fits_costs_few_calls_and_no_small_batches() -> None:
    rows: list[int] = []

    def backwards(batch: pa.RecordBatch) -> pa.RecordBatch:
        rows.append(len(batch))
        raise ValueError("not in order")

    bench = StageBench(ColumnHandle(lambda record: [record], backwards))
    with capture_logs() as logged:
        await bench.copy(numbered(*range(1000)))
        await bench.copy(numbered(1000, 1001))
    assert [len(batch.offsets) for batch in bench.sent] == [1000, 2]
    assert len(rows) < 1000 / 8
    (told,) = logged
    assert told["event"] == "source.columns_failed"
    assert "not in order" in told["reason"]


def _counted_rows() -> tuple[StageBench, list[int]]:
    """A stage with room for all, and the numbers of rows that are changed at a time."""
    rows: list[int] = []

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        rows.append(len(batch))
        return batch

    bench = StageBench(ColumnHandle(never, change))
    bench.budget = MemoryBudget(1 << 30)
    return bench, rows


async def test_small_records_that_are_taken_together_are_one_piece() -> None:
    bench, rows = _counted_rows()
    values = [Plain(offset=at, value=b"%05d" % at * 20) for at in range(30_000)]
    batches = [values[at : at + 150] for at in range(0, len(values), 150)]
    await bench.copy(*(write_batch(each, codec_number=3) for each in batches))
    assert rows == [30_000]
    assert bench.values == [each.value for each in values]


async def test_many_rows_are_changed_in_pieces() -> None:
    bench, rows = _counted_rows()
    values = [Plain(offset=at, value=b"%d" % at * 20) for at in range(80_000)]
    await bench.copy(write_batch(values, codec_number=4))
    assert len(rows) > 2
    assert max(rows) < 40_000
    assert bench.values == [each.value for each in values]
    covers = [batch.covers or range(0) for batch in bench.sent]
    assert [each.start for each in covers] == [0, *(each.stop for each in covers[:-1])]
    assert covers[-1].stop == 80_000


async def test_records_behind_the_end_that_their_batch_announces_are_not_lost() -> None:
    """Of a damaged batch, whose checksum is right."""
    bench = StageBench(in_arrow("shout"), errors=error_settings(tolerates=True))
    values = [b"a", b"b", b"bad", b"d"] * 20
    data = bytearray(write_batch([Plain(offset=at, value=v) for at, v in enumerate(values)]))
    struct.pack_into(">i", data, 23, 0)  # The last offset's distance from the first.
    struct.pack_into(">I", data, 17, crc32c(memoryview(data)[21:]))
    await bench.copy(bytes(data))
    assert bench.values == [b"A", b"B", b"D"] * 20
    assert bench.partition.progress.skipped == 20


async def test_any_error_of_a_target_is_that_of_a_record() -> None:
    class Failing(KnownRoutes):
        async def sender(
            self,
            where: TopicPartition,
            like: TopicName,
            record: SourceRecord | TargetRecord | None = None,
        ) -> PartitionSender:
            if where.topic != "A.t":
                raise struct.error("odd")
            return await super().sender(where, like, record)

    bench = StageBench(in_arrow("spread"), errors=error_settings(tolerates=True))
    bench.stage._transform._routes = Failing()
    await bench.copy(numbered(0, 1, 2))
    assert bench.values == [b"2"]
    assert bench.partition.progress.skipped == 2


async def test_records_that_cannot_be_columns_are_changed_one_by_one() -> None:
    chain = chain_of({"transforms": "x", "transforms.x.type": "InsertHeader",
                      "transforms.x.header": "h", "transforms.x.value.literal": "v"})  # fmt: skip
    handle = of_chain(chain, "A.t")
    assert isinstance(handle, ColumnHandle)
    bench = StageBench(replace(handle, least=1))
    good = Plain(offset=0, value=b"a")
    await bench.copy(
        write_batch([good]), write_batch([Plain(offset=1, headers=((b"\xff", b"x"),))])
    )
    found = [record.headers for batch in bench.sent for record in read_batch(batch.data)]
    assert found == [((b"h", b"v"),), ((b"\xff", b"x"), (b"h", b"v"))]


async def test_records_that_the_target_may_have_already_are_compared_one_by_one() -> None:
    seen: list[str] = []

    def change(batch: Any) -> Any:
        seen.append("columns")
        return batch

    def alone(record: SourceRecord) -> list[SourceRecord]:
        seen.append("record")
        return [record]

    bench = StageBench(ColumnHandle(alone, change))
    bench.partition.fetch.compare_with(Overlap(range(0), 1 << 20, lambda: None))
    await bench.copy(numbered(0, 1))
    await bench.copy(numbered(2, 3))
    assert bench.values == [b"0", b"1", b"2", b"3"]
    assert seen == ["record", "record", "columns"]


async def test_few_records_are_changed_one_by_one_where_that_is_faster() -> None:
    seen: list[int] = []

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        seen.append(len(batch))
        return batch

    bench = StageBench(ColumnHandle(lambda record: [record], change, least=3))
    await bench.copy(numbered(0), numbered(1))
    await bench.copy(numbered(2), numbered(3, 4))
    assert bench.values == [b"0", b"1", b"2", b"3", b"4"]
    assert seen == [3]


async def test_rows_for_other_topics_go_there() -> None:
    bench = StageBench(columns_only("spread"))
    await bench.copy(numbered(0, 1, 2, 3))
    elsewhere = bench.routes.senders[TopicPartition(TopicName("A.t.more"), 0)]
    assert bench.partition.progress.left_out == 0
    assert [list(batch.offsets) for batch in bench.sent] == [[0, 2, 3]]
    assert [list(batch.offsets) for batch in elsewhere.queue] == [[0, 1, 3]]
    assert bench.partition.progress.mirrored == -1


async def test_where_a_row_cannot_go_the_record_says_why() -> None:
    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        at = batch.schema.get_field_index("partition")
        return batch.set_column(at, "partition", pa.array([0, 0, 7][: len(batch)], pa.int32()))

    bench = StageBench(ColumnHandle(lambda r: [replace(r, partition=7 * (r.offset // 2))], change))
    await bench.copy(numbered(0, 1, 2))
    assert bench.values == [b"0", b"1"]
    assert bench.partition.error is not None
    assert "fails at offset 2" in bench.partition.error
