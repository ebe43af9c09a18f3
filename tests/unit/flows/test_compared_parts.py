"""A part of a partition is compared with its copy, from batches to differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest

from flows.verify.compare_part import compare_logs
from flows.verify.compared_logs import ComparedLogs, ReadOffsets
from flows.verify.comparison_spec import ComparedPart, ComparisonSpec
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName
from mm2.core.verification.comparison_result import ComparisonResult, Kind
from mm2.core.verification.last_values import LastValueRules
from mm2.core.verification.ranges import ComparedRange
from mm2.core.verification.stream_comparison import ComparisonRules
from mm2.kafka.wire.wire_client import WireClient
from tests.support import virtual_time
from tests.support.batches import Plain, write_batch
from tests.support.fake_log import WHERE, FakeLog

_COUNT = 60
_AT = 31


def _records() -> list[Plain]:
    return [
        Plain(timestamp=n, key=b"k%d" % n, value=b"v%d" % n, headers=((b"\xff", b"h%d" % n),))
        for n in range(_COUNT)
    ]


def _log(records: list[Plain], codec: int, size: int) -> FakeLog:
    """The records in batches of a size."""
    placed = [replace(each, offset=offset) for offset, each in enumerate(records)]
    starts = range(0, len(placed), size)
    return FakeLog({at: write_batch(placed[at : at + size], codec_number=codec) for at in starts})


def _compared(
    copy: list[Plain],
    last_values: LastValueRules | None = None,
    *,
    deleted: int = 0,
    tell: Callable[[int], None] = lambda _: None,
) -> ComparisonResult:
    spec = ComparisonSpec(
        flow=SourceAndTarget(ClusterAlias("A"), ClusterAlias("B")),
        source={},
        target={},
        source_committed=False,
        most_plain=1 << 20,
        digest_key=(1, 2),
        most=20,
    )
    ranges = ComparedRange(source=(0, _COUNT), remote=(0, len(copy)), rules=ComparisonRules())
    part = ComparedPart(
        where=WHERE, remote_topic=TopicName("A.t"), range=ranges, last_values=last_values
    )
    source, target = _log(_records(), 0, 7), _log(copy, 3, 10)
    source.batches = {first: each for first, each in source.batches.items() if first >= deleted}
    clients = cast("WireClient", source), cast("WireClient", target)
    logs = ComparedLogs(spec, part, *clients, ReadOffsets(tell))
    return virtual_time.run(compare_logs(logs))


def _lost(copy: list[Plain]) -> None:
    del copy[_AT]


def _duplicated(copy: list[Plain]) -> None:
    copy.insert(_AT, copy[_AT])


def _reordered(copy: list[Plain]) -> None:
    copy[_AT], copy[_AT + 1] = copy[_AT + 1], copy[_AT]


def _altered(copy: list[Plain]) -> None:
    copy[_AT] = replace(copy[_AT], value=None)


def _altered_header(copy: list[Plain]) -> None:
    copy[_AT] = replace(copy[_AT], headers=((b"\xfe", b"h%d" % _AT),))


@pytest.mark.parametrize(
    ("plant", "kind", "fields"),
    [
        (_lost, Kind.LOST, ()),
        (_duplicated, Kind.DUPLICATED, ()),
        (_reordered, Kind.REORDERED, ()),
        (_altered, Kind.ALTERED, ("value",)),
        (_altered_header, Kind.ALTERED, ("headers",)),
    ],
)
def test_a_planted_difference_is_found(
    plant: Callable[[list[Plain]], None], kind: Kind, fields: tuple[str, ...]
) -> None:
    copy = _records()
    plant(copy)
    found = _compared(copy)
    assert dict(found.counts) == {kind: 1}
    assert found.differences[0].fields == fields


def test_a_true_copy_in_other_batches_does_not_differ() -> None:
    found = _compared(_records())
    assert (found.differs, found.equal) == (False, _COUNT)


def test_compacted_logs_are_compared_by_the_last_record_of_a_key() -> None:
    rules = LastValueRules(pending_from=_COUNT)
    again = [*_records()[:5], *_records()]
    assert not _compared(again, rules).differs
    assert dict(_compared(_records()[:-1], rules).counts) == {Kind.LOST: 1}


def test_what_the_source_deletes_before_it_is_read_is_not_added_to_a_compacted_copy() -> None:
    found = _compared(_records(), LastValueRules(pending_from=_COUNT), deleted=14)
    assert (found.differs, found.equal, found.not_comparable) == (False, _COUNT - 14, 14)


@pytest.mark.parametrize("rules", [None, LastValueRules(pending_from=_COUNT)])
def test_a_part_tells_how_much_of_it_has_been_read(rules: LastValueRules | None) -> None:
    told: list[int] = []
    copy = _records()
    _altered(copy)
    _compared(copy, rules, tell=told.append)
    assert told == sorted(told)
    assert len(set(told)) > 10
    assert told[-1] == 2 * _COUNT
