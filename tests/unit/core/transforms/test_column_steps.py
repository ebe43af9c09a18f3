"""Transforms on columns where numbers of records, topics and times are large."""

from __future__ import annotations

import pyarrow as pa

from mm2.core.transforms.column_schema import SCHEMA
from mm2.core.transforms.column_steps import on_columns
from tests.support.transform_chains import chain_of

_ROWS = 50_000


def test_as_many_topics_as_times_keep_their_own_names() -> None:
    """There are more pairs of both than 32 bits can number."""
    chain = chain_of(
        {
            "transforms": "x",
            "transforms.x.type": "TimestampRouter",
            "transforms.x.timestamp.format": "mm:ss.SSS",
        }
    )
    numbers = pa.array(range(_ROWS), pa.int64())
    names = [f"t{number}" for number in range(_ROWS)]
    columns = {
        "key": pa.nulls(_ROWS, pa.binary()),
        "value": pa.nulls(_ROWS, pa.binary()),
        "headers": pa.array([[]] * _ROWS, SCHEMA.field("headers").type),
        "timestamp": numbers.cast(SCHEMA.field("timestamp").type),
        "topic": pa.array(names, pa.string()),
        "partition": pa.array([0] * _ROWS, pa.int32()),
        "offset": numbers,
    }
    steps = on_columns(chain.steps)
    assert steps is not None
    made = steps.apply(pa.record_batch([columns[name] for name in SCHEMA.names], SCHEMA))
    assert [name.partition("-")[0] for name in made.column("topic").to_pylist()] == names
