"""Arrow functions are tried before anything is copied, and what they return is checked."""

from __future__ import annotations

from asyncio import CancelledError

import pyarrow as pa
import pytest

from mm2.core.transforms.arrow_function import load_function, try_function
from mm2.core.transforms.column_schema import SCHEMA, WrongColumns, columns_of, one_row, rows_of
from mm2.errors import ConfigError, TransformError
from tests.support.transform_chains import record

FUNCTIONS = "tests.support.arrow_functions"


@pytest.mark.parametrize("name", ["fan_out", "Marks", "spread", "backwards"])
def test_a_function_that_returns_the_columns_is_accepted(name: str) -> None:
    try_function(f"{FUNCTIONS}:{name}", "x", "arrow.function")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("renames_a_column", "it has no columns key, and needs one"),
        ("as_text", "column value is string: cast it to binary"),
        ("as_table", "a pyarrow.RecordBatch is needed, not Table"),
        ("ends_the_process", "SystemExit"),
        ("missing", "cannot be loaded: AttributeError"),
    ],
)
def test_another_one_is_an_error_of_its_key(name: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as raised:
        try_function(f"{FUNCTIONS}:{name}", "", "arrow.function")
    assert raised.value.key == "arrow.function"
    assert f"Invalid value {FUNCTIONS}:{name} for arrow.function: " in raised.value.message


def test_a_record_is_a_batch_of_one_row_and_comes_back_as_it_was() -> None:
    for each in (
        record(headers=(("h", b"x"), ("é", None), ("h", b""))),
        record(key=None, value=None, timestamp=-1),
        record(timestamp=(1 << 63) - 1),
    ):
        assert one_row(each).schema.equals(SCHEMA)
        assert rows_of(one_row(each)) == [each]


def test_a_header_whose_name_is_not_utf_8_is_an_error_of_its_record() -> None:
    with pytest.raises(ValueError, match="utf-8"):
        one_row(record(headers=(("\udcff", b""),)))


@pytest.mark.parametrize(
    "offsets", [[6], [8], [7, 8], [7, 7, 6]], ids=["before", "behind", "more", "back"]
)
def test_rows_with_other_offsets_are_refused(
    offsets: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        made = batch.take(pa.array([0] * len(offsets)))
        return made.set_column(6, "offset", pa.array(offsets, pa.int64()))

    monkeypatch.setattr(f"{FUNCTIONS}.fan_out", change)
    with pytest.raises(WrongColumns, match="column offset must keep"):
        load_function(f"{FUNCTIONS}:fan_out", None)(one_row(record(offset=7)))


def test_rows_with_an_offset_between_those_of_records_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.set_column(6, "offset", pa.array([5, 6, 9], pa.int64()))

    monkeypatch.setattr(f"{FUNCTIONS}.fan_out", change)
    with pytest.raises(WrongColumns, match="column offset must keep"):
        load_function(f"{FUNCTIONS}:fan_out", None)(
            columns_of(record(offset=each) for each in (5, 7, 9))
        )


@pytest.mark.parametrize("raised", [KeyboardInterrupt, CancelledError, BaseException])
def test_what_would_end_the_task_is_an_error_of_the_records(
    raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(_: pa.RecordBatch) -> pa.RecordBatch:
        raise raised

    monkeypatch.setattr(f"{FUNCTIONS}.fan_out", change)
    with pytest.raises(TransformError, match=f"the function has raised {raised.__name__}"):
        load_function(f"{FUNCTIONS}:fan_out", None)(one_row(record()))


def test_rows_of_no_record_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{FUNCTIONS}.fan_out", lambda _: one_row(record()))
    with pytest.raises(ConfigError, match="column offset must keep"):
        try_function(f"{FUNCTIONS}:fan_out", "", "arrow.function")
