"""Two logs compared as streams: what differs, and what may."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from mm2.core.verification.comparison_result import Difference, Kind
from mm2.core.verification.stream_comparison import ComparisonRules, Side, StreamComparison
from tests.support.tables import Row, compare, rows, table

_SIZE = 40
_AT = 17


def _lost(copy: list[Row]) -> None:
    del copy[_AT]


def _duplicated(copy: list[Row]) -> None:
    copy.insert(_AT + 3, copy[_AT])


def _reordered(copy: list[Row]) -> None:
    copy[_AT], copy[_AT + 1] = copy[_AT + 1], copy[_AT]


def _altered_value(copy: list[Row]) -> None:
    copy[_AT] = replace(copy[_AT], value="another")


def _altered_header(copy: list[Row]) -> None:
    copy[_AT] = replace(copy[_AT], headers="another")


def _altered_key(copy: list[Row]) -> None:
    copy[_AT] = replace(copy[_AT], key=None)


def _altered_time(copy: list[Row]) -> None:
    copy[_AT] = replace(copy[_AT], timestamp=-1)


def _added(copy: list[Row]) -> None:
    copy.insert(_AT, Row(value="of somebody else", timestamp=-7))


_Planted = tuple[Callable[[list[Row]], None], Kind, int | None, int | None, tuple[str, ...]]

_PLANTED: list[_Planted] = [
    (_lost, Kind.LOST, _AT, None, ()),
    (_duplicated, Kind.DUPLICATED, None, _AT + 3, ()),
    (_reordered, Kind.REORDERED, _AT, _AT + 1, ()),
    (_altered_value, Kind.ALTERED, _AT, _AT, ("value",)),
    (_altered_header, Kind.ALTERED, _AT, _AT, ("headers",)),
    (_altered_key, Kind.ALTERED, _AT, _AT, ("key",)),
    (_altered_time, Kind.ALTERED, _AT, _AT, ("timestamp",)),
    (_added, Kind.ADDED, None, _AT, ()),
]


@pytest.mark.parametrize("step", [1, 7, 1000])
@pytest.mark.parametrize("planted", _PLANTED)
def test_a_planted_difference_is_found_and_named(planted: _Planted, step: int) -> None:
    plant, kind, here, there, fields = planted
    copy = rows(_SIZE)
    plant(copy)
    found = compare(table(rows(_SIZE)), table(copy), step=step)
    assert dict(found.counts) == {kind: 1}
    (one,) = found.differences
    assert (one.kind, one.fields) == (kind, fields)
    if kind is Kind.REORDERED:  # Either of the two may be the one that has moved.
        assert {one.source_offset, one.remote_offset} == {_AT, _AT + 1}
    else:
        assert (one.source_offset, one.remote_offset) == (here, there)


def test_equal_logs_do_not_differ() -> None:
    found = compare(table(rows(5000)), table(rows(5000), first=700), step=333)
    assert not found.differs
    assert (found.equal, found.source_records, found.remote_records) == (5000, 5000, 5000)


@pytest.mark.parametrize("size", [300, pytest.param(200_000, marks=pytest.mark.slow)])
def test_a_long_run_that_was_copied_twice_is_one_of_duplicates(size: int) -> None:
    records = rows(size + 10)
    count = min(size, 100_000)
    copy = [*records[:size], *records[size - count : size], *records[size:]]
    found = compare(table(records), table(copy), step=50_000)
    assert dict(found.counts) == {Kind.DUPLICATED: count}
    assert len(found.differences) == 20


def test_records_at_the_end_may_be_behind_but_not_before_one_that_is_copied() -> None:
    rules = ComparisonRules(pending_from=30)
    behind = compare(table(rows(_SIZE)), table(rows(35)), rules)
    assert (behind.differs, behind.behind) == (False, 5)
    early = compare(table(rows(_SIZE)), table(rows(25)), rules)
    assert dict(early.counts) == {Kind.LOST: 5}
    copy = rows(_SIZE)
    del copy[33]
    assert dict(compare(table(rows(_SIZE)), table(copy), rules).counts) == {Kind.LOST: 1}


def test_what_somebody_else_has_written_behind_the_copies_is_no_copy() -> None:
    copy = [*rows(35), Row(value="of somebody else", timestamp=-7)]
    found = compare(table(rows(_SIZE)), table(copy), ComparisonRules(pending_from=30))
    assert dict(found.counts) == {Kind.ADDED: 1}


@pytest.mark.parametrize("gone", [10, 20_000, pytest.param(300_000, marks=pytest.mark.slow)])
def test_a_beginning_that_retention_has_deleted_is_not_compared(gone: int) -> None:
    end = gone + 500
    records = rows(end)
    shorter = table(records[gone:], first=gone)
    of_source = ComparisonRules(open_remote_start=True)
    found = compare(shorter, table(records), of_source, step=60_000)
    assert (found.differs, found.equal, found.not_comparable) == (False, 500, gone)
    of_remote = ComparisonRules(open_source_start=True)
    found = compare(table(records), shorter, of_remote, step=60_000)
    assert (found.differs, found.equal, found.not_comparable) == (False, 500, gone)
    both = ComparisonRules(open_source_start=True, open_remote_start=True)
    assert not compare(table(records), shorter, both, step=60_000).differs


@pytest.mark.parametrize("size", [10, pytest.param(300_000, marks=pytest.mark.slow)])
def test_logs_that_have_nothing_in_common_differ_whatever_may_be_missing(size: int) -> None:
    rules = ComparisonRules(open_source_start=True, open_remote_start=True, open_end=True)
    found = compare(table(rows(size)), table(rows(size, first=size)), rules, step=60_000)
    assert found.differs
    assert found.counts.total() >= size


def test_times_that_the_target_has_set_are_not_compared() -> None:
    copy = [replace(each, timestamp=99) for each in rows(_SIZE)]
    assert not compare(table(rows(_SIZE)), table(copy, append_time=True)).differs
    assert compare(table(rows(_SIZE)), table(copy)).counts == {Kind.ALTERED: _SIZE}


def test_compaction_may_take_records_but_not_change_them() -> None:
    rules = ComparisonRules(tolerates_compaction=True)
    source = [each for n, each in enumerate(rows(_SIZE)) if n % 3]
    copy = [each for n, each in enumerate(rows(_SIZE)) if n % 4]
    found = compare(table(source), table(copy), rules)
    assert not found.differs
    assert found.compacted
    copy[9] = replace(copy[9], value="another")
    assert dict(compare(table(source), table(copy), rules).counts) == {Kind.ALTERED: 1}


def test_a_copy_of_a_record_outside_of_the_range_is_a_duplicate() -> None:
    records = rows(50)
    comparison = StreamComparison(ComparisonRules(), most=5)
    comparison.add(Side.SOURCE, table(records[:40]))
    comparison.add(Side.REMOTE, table([*records[:40], records[45]]))
    comparison.end(Side.SOURCE)
    comparison.end(Side.REMOTE)
    assert comparison.has_unknown()
    comparison.learn(table(records[40:], first=40))
    comparison.finish()
    assert dict(comparison.result.counts) == {Kind.DUPLICATED: 1}


def test_records_that_are_deleted_while_they_are_read_are_not_lost() -> None:
    comparison = StreamComparison(ComparisonRules(), most=5)
    comparison.add(Side.SOURCE, table(rows(10)))
    comparison.add(Side.REMOTE, table(rows(10)))
    comparison.open_start(Side.SOURCE)
    comparison.add(Side.SOURCE, table(rows(10, first=20), first=20))
    comparison.add(Side.REMOTE, table(rows(20, first=10), first=10))
    comparison.end(Side.SOURCE)
    comparison.end(Side.REMOTE)
    comparison.finish()
    found = comparison.result
    assert (found.differs, found.equal, found.not_comparable) == (False, 20, 10)


def test_no_more_differences_are_kept_than_wanted_and_all_are_counted() -> None:
    found = compare(table(rows(3000)), table(rows(3000, first=9000)))
    assert found.counts == {Kind.LOST: 3000, Kind.ADDED: 3000}
    assert len(found.differences) == 20
    assert all(isinstance(each, Difference) for each in found.differences)
