"""What becomes of rows by the answers of Spark's SQL, whether or not some are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from flows.source.transform.sql_columns import LEFT_OUT, STAYS, changed
from mm2.core.handled_records import SourceRecord
from mm2.core.transforms.column_schema import columns_of, rows_of
from mm2.errors import TransformError
from tests.support.transform_chains import record

_COPY = pa.struct({"value": pa.binary(), "partition": pa.int32()})


def _records(count: int) -> list[SourceRecord]:
    return [replace(record(value=b"%d" % at), offset=at) for at in range(count)]


def _answers(made: Sequence[Any], kind: pa.DataType) -> pa.StructArray:
    whole = pa.struct({"made": kind, "failed": pa.binary()})
    return pa.array([{"made": each} for each in made], whole)


@pytest.mark.parametrize("dropped", [(), (1,), (0, 3), range(4)])
@pytest.mark.parametrize("skipped", [0, 2])
def test_rows_have_what_the_answers_say_or_are_left_out(
    dropped: Sequence[int], skipped: int
) -> None:
    """Also of answers and rows that are parts of larger ones."""
    made = [
        None if at in dropped else {"value": b"%d!" % at if at else None, "partition": at}
        for at in range(4)
    ]
    answers = _answers([{"value": b"other", "partition": 9}] * skipped + made, _COPY)
    other, records = _records(skipped), _records(4)
    rows = columns_of(other + records).slice(skipped)
    assert rows_of(changed(rows, answers.slice(skipped))) == [
        replace(each, value=b"%d!" % at if at else None, partition=at)
        for at, each in enumerate(records)
        if at not in dropped
    ]


@pytest.mark.parametrize("dropped", [(), (1, 2), range(4)])
@pytest.mark.parametrize("skipped", [0, 2])
def test_rows_stay_as_they_are_where_only_some_are_chosen(
    dropped: Sequence[int], skipped: int
) -> None:
    said = [LEFT_OUT if at in dropped else STAYS for at in range(4)]
    answers = pa.array([LEFT_OUT] * skipped + said, pa.binary()).slice(skipped)
    records = _records(4)
    found = rows_of(changed(columns_of(records), answers))
    assert found == [each for at, each in enumerate(records) if at not in dropped]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ([STAYS, b"why \xff", LEFT_OUT], "fails for 1 of 3 records: why \N{REPLACEMENT CHARACTER}"),
        ([STAYS, None, b"why"], "fails for 2 of 3 records: Spark does not say"),
        ([None], "Spark does not say"),
    ],
)
def test_a_row_without_a_choice_fails_all(said: Sequence[bytes | None], reason: str) -> None:
    rows = columns_of(_records(len(said)))
    with pytest.raises(TransformError, match=reason):
        changed(rows, pa.array(said, pa.binary()))
