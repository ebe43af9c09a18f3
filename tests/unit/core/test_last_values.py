"""Compacted logs, compared by the last record of each key."""

from __future__ import annotations

from dataclasses import replace

from mm2.core.verification.comparison_result import ComparisonResult, Kind
from mm2.core.verification.last_values import LastValueRules, LastValues, compare_last_values
from tests.support.tables import Row, rows, table


def _last(records: list[Row], *, append_time: bool = False) -> LastValues:
    last = LastValues()
    for at in range(0, len(records), 7):
        last.add(table(records[at : at + 7], first=at, append_time=append_time))
    return last


def _compare(
    source: list[Row],
    remote: list[Row],
    *,
    pending_from: int | None = 1_000_000,
    open_source: bool = False,
    open_remote: bool = False,
    append_time: bool = False,
) -> ComparisonResult:
    result = ComparisonResult()
    rules = LastValueRules(
        pending_from=pending_from, open_source_start=open_source, open_remote_start=open_remote
    )
    compare_last_values(_last(source), _last(remote, append_time=append_time), rules, result)
    return result


_OLD = [replace(each, value="old") for each in rows(30)]


def test_what_compaction_has_deleted_on_one_side_does_not_matter() -> None:
    found = _compare([*_OLD, *rows(30)], [*_OLD[10:], *rows(30)])
    assert (found.differs, found.equal) == (False, 30)


def test_a_key_with_another_last_value_is_altered() -> None:
    copy = rows(30)
    copy[4] = replace(copy[4], value="another")
    found = _compare([*_OLD, *rows(30)], [*_OLD, *copy])
    assert dict(found.counts) == {Kind.ALTERED: 1}
    assert (found.differences[0].source_offset, found.differences[0].fields) == (34, ("value",))


def test_a_key_that_is_missing_is_lost_and_one_too_many_was_added() -> None:
    found = _compare(rows(30), [*rows(29), Row(key="other", value="x")])
    assert dict(found.counts) == {Kind.LOST: 1, Kind.ADDED: 1}


def test_a_tombstone_may_be_gone_on_either_side() -> None:
    gone = Row(key="gone", timestamp=4)
    assert not _compare([*rows(3), gone], rows(3)).differs
    assert not _compare(rows(3), [*rows(3), gone]).differs


def test_a_key_that_was_written_since_the_position_is_not_compared() -> None:
    newer = [*rows(30), replace(rows(1)[0], value="newer"), Row(key="new", value="x")]
    found = _compare(newer, rows(30), pending_from=30)
    assert (found.differs, found.behind) == (False, 2)
    assert dict(_compare(newer, rows(30), pending_from=31).counts) == {Kind.ALTERED: 1}


def test_what_somebody_else_writes_is_no_copy() -> None:
    copy = [*rows(30), replace(rows(1)[0], value="of somebody else")]
    assert dict(_compare(rows(30), copy, pending_from=30).counts) == {Kind.ALTERED: 1}


def test_copies_in_another_order_are_found() -> None:
    copy = rows(30)
    copy[3], copy[20] = copy[20], copy[3]
    found = _compare(rows(30), copy)
    assert set(found.counts) == {Kind.REORDERED}


def test_what_retention_has_deleted_before_the_first_equal_record_need_not_be_there() -> None:
    found = _compare(rows(30), rows(26, first=4), open_source=True)
    assert (found.differs, found.equal, found.not_comparable) == (False, 26, 4)
    found = _compare(rows(26, first=4), rows(30), open_remote=True)
    assert (found.differs, found.equal, found.not_comparable) == (False, 26, 4)


def test_retention_of_one_log_does_not_account_for_what_the_other_lacks() -> None:
    assert dict(_compare(rows(30), rows(26, first=4), open_remote=True).counts) == {Kind.LOST: 4}
    assert dict(_compare(rows(26, first=4), rows(30), open_source=True).counts) == {Kind.ADDED: 4}


def test_where_nothing_was_deleted_by_retention_a_missing_copy_is_lost() -> None:
    assert dict(_compare(rows(30), []).counts) == {Kind.LOST: 30}


def test_what_is_missing_behind_an_equal_record_is_lost_whatever_retention_did() -> None:
    copy = [*rows(10, first=5), *rows(10, first=20)]
    found = _compare(rows(30), copy, open_source=True, open_remote=True)
    assert dict(found.counts) == {Kind.LOST: 5}
    assert found.not_comparable == 5


def test_records_that_are_deleted_while_a_log_is_read_are_as_if_they_had_never_been() -> None:
    for is_source in (True, False):
        whole, cut, result = _last(rows(30)), _last(rows(10)), ComparisonResult()
        cut.open_start()
        cut.add(table(rows(15, first=15), first=15))
        sides = (cut, whole) if is_source else (whole, cut)
        compare_last_values(*sides, LastValueRules(pending_from=30), result)
        assert (result.equal, result.not_comparable) == (15, 15)
        assert not result.differs


def test_without_a_position_what_has_a_copy_says_how_far_copies_go() -> None:
    copy = [replace(each, value="another") for each in rows(20)]
    copy[15] = rows(20)[15]
    found = _compare(rows(30), [*copy[:8], *copy[9:]], pending_from=None)
    assert dict(found.counts) == {Kind.ALTERED: 14, Kind.LOST: 1}
    assert found.behind == 14


def test_without_a_position_what_is_behind_the_last_copy_may_be_missing() -> None:
    found = _compare(rows(30), rows(20), pending_from=None)
    assert (found.differs, found.equal, found.behind) == (False, 20, 10)


def test_without_a_position_an_older_copy_of_the_same_value_says_nothing() -> None:
    again = replace(rows(1)[0], timestamp=99)
    found = _compare([*rows(30), again], rows(20), pending_from=None, append_time=True)
    assert not found.differs
