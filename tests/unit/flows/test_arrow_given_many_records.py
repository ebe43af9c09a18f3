"""An Arrow function whose records go on one by one is given many at a time."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from flows.source.transform.column_transforms import followed_by, of_function, sparing_columns
from flows.source.transform.message_handler import Handle, handled
from mm2.core.internal_records import Heartbeat
from mm2.core.model import ClusterAlias
from tests.support.arrow_functions import json_copies
from tests.support.batches import Plain, write_batch
from tests.support.specs import error_settings
from tests.support.stage_bench import StageBench
from tests.support.transform_chains import chain_of, record

_MASK = chain_of(
    {"transforms": "m", "transforms.m.type": "MaskField$Value", "transforms.m.fields": "f"}
)
_COUNT = 2000


class _Counted:
    """An Arrow function, and how many rows it was given each time."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        self.rows.append(len(batch))
        return json_copies(batch)


async def _copied(handle: Handle, bad: int | None = None) -> list[bytes | None]:
    records = [
        Plain(offset=at, value=b"bad" if at == bad else b'{"n": %d, "f": %d}' % (at % 3, at))
        for at in range(_COUNT)
    ]
    bench = StageBench(handle, errors=error_settings(tolerates=True))
    await bench.copy(*(write_batch(records[at : at + 100]) for at in range(0, _COUNT, 100)))
    assert bench.partition.progress.skipped == (bad is not None)
    return bench.values


async def test_it_sees_a_thousand_rows_in_front_of_transforms_of_json() -> None:
    function = _Counted()
    found = await _copied(followed_by(_MASK, of_function(function)))
    assert sum(function.rows) == _COUNT
    assert len(function.rows) <= 2 + _COUNT // 1000
    alone = await _copied(partial(followed_by(_MASK, of_function(json_copies))))
    assert found == alone


async def test_one_record_that_it_fails_for_has_few_others_tried_alone() -> None:
    function = _Counted()
    found = await _copied(followed_by(_MASK, of_function(function)), bad=777)
    assert len(found) == sum(at % 3 for at in range(_COUNT) if at != 777)
    assert function.rows.count(1) < 32
    assert len(function.rows) < 60


async def test_heartbeats_are_not_among_the_rows() -> None:
    function, beat = _Counted(), Heartbeat(ClusterAlias("C"), ClusterAlias("A"), 5)
    transform = sparing_columns(of_function(function))
    assert transform.ahead is not None
    beats = [record(key=beat.key(), value=beat.value())]
    await transform.ahead(beats)
    others = [record(value=b'{"n": 2}').replace(offset=at) for at in (8, 9)]
    await transform.ahead([*beats, *others])
    assert [await handled(transform, each) for each in [*beats, *others]] == [
        beats,
        *([each] * 2 for each in others),
    ]
    assert function.rows == [2]
