"""A comparison of two logs, however they differ and in whatever portions they are read."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mm2.core.verification.comparison_result import ComparisonResult, Kind
from mm2.core.verification.last_values import LastValueRules, LastValues, compare_last_values
from mm2.core.verification.stream_comparison import ComparisonRules
from tests.support.tables import Row, compare, rows, table

_ROW = st.builds(
    Row,
    key=st.sampled_from([None, "a", "b"]),
    value=st.sampled_from([None, "x", "y"]),
    headers=st.sampled_from([None, "h"]),
    timestamp=st.sampled_from([-1, 1, 2]),
)
_LOG = st.lists(_ROW, max_size=30)


@given(source=_LOG, remote=_LOG, step=st.integers(1, 40))
def test_logs_differ_exactly_if_their_records_do(
    source: list[Row], remote: list[Row], step: int
) -> None:
    found = compare(table(source), table(remote), step=step)
    assert found.differs == (source != remote)
    assert (found.source_records, found.remote_records) == (len(source), len(remote))


@given(source=_LOG, remote=_LOG, step=st.integers(1, 40))
def test_each_record_is_equal_or_has_a_difference(
    source: list[Row], remote: list[Row], step: int
) -> None:
    found = compare(table(source), table(remote), step=step)
    both = found.equal + found.counts[Kind.REORDERED] + found.counts[Kind.ALTERED]
    assert both + found.counts[Kind.LOST] == len(source)
    assert both + found.counts[Kind.DUPLICATED] + found.counts[Kind.ADDED] == len(remote)


@given(
    size=st.integers(1, 60),
    copied=st.integers(0, 60),
    pending=st.integers(0, 60),
    step=st.integers(1, 40),
)
def test_only_records_behind_the_position_may_be_without_copies(
    size: int, copied: int, pending: int, step: int
) -> None:
    copied, pending = min(copied, size), min(pending, size)
    rules = ComparisonRules(pending_from=pending)
    found = compare(table(rows(size)), table(rows(copied)), rules, step=step)
    assert found.counts[Kind.LOST] == max(0, pending - copied)
    assert found.differs == (copied < pending)


@given(
    size=st.integers(21, 60),
    at=st.integers(0, 19),
    kind=st.sampled_from(["lost", "duplicated", "reordered", "value", "headers", "key"]),
    step=st.integers(1, 40),
)
def test_one_planted_difference_is_one_difference(size: int, at: int, kind: str, step: int) -> None:
    copy = rows(size)
    if kind == "lost":
        del copy[at]
    elif kind == "duplicated":
        copy.insert(at, copy[at])
    elif kind == "reordered":
        copy.insert(at + 1, copy.pop(at))
    else:
        copy[at] = replace(copy[at], **{kind: "another"})  # type: ignore[arg-type]
    found = compare(table(rows(size)), table(copy), step=step)
    assert found.counts.total() == 1
    assert found.differences[0].kind == (kind if kind in set(Kind) else Kind.ALTERED)


_KEYED = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), min_size=1, max_size=30)


def _by_key(
    log: list[Row], copied: int, *, source_start: int, remote_start: int, position: int | None
) -> ComparisonResult:
    """Compares a log that has lost its beginning with its copy, which has lost another one."""
    source, remote, result = LastValues(), LastValues(), ComparisonResult()
    source.add(table(log[source_start:], first=source_start))
    remote.add(table(log[:copied][remote_start:], first=remote_start))
    rules = LastValueRules(
        pending_from=position,
        open_source_start=remote_start > 0,
        open_remote_start=source_start > 0,
    )
    compare_last_values(source, remote, rules, result)
    return result


@given(
    keys=_KEYED,
    copied=st.integers(0, 30),
    cut=st.tuples(st.integers(0, 30), st.integers(0, 30)),
    position=st.none() | st.integers(0, 30),
)
def test_what_retention_leaves_of_a_compacted_log_and_its_copy_does_not_differ(
    keys: list[str], copied: int, cut: tuple[int, int], position: int | None
) -> None:
    log = [Row(key=key, value=f"v{at}", timestamp=at) for at, key in enumerate(keys)]
    copied = min(copied, len(log))
    found = _by_key(
        log,
        copied,
        source_start=min(cut[0], copied),
        remote_start=min(cut[1], copied),
        position=None if position is None else min(position, copied),
    )
    assert not found.differs


@given(size=st.integers(2, 40), cut=st.integers(0, 20), at=st.integers(0, 40), known=st.booleans())
def test_a_lost_last_record_of_a_key_is_found_behind_what_retention_has_left(
    size: int, cut: int, at: int, *, known: bool
) -> None:
    cut = min(cut, size - 2)
    lost = cut + 1 + at % (size - cut - 1)
    source, remote, result = LastValues(), LastValues(), ComparisonResult()
    source.add(table(rows(size)))
    copy = [*rows(size), *rows(1, first=100)]
    source.add(table(rows(1, first=100), first=size))
    del copy[lost]
    remote.add(table(copy[cut:], first=cut))
    rules = LastValueRules(
        pending_from=size if known else None, open_source_start=cut > 0, open_remote_start=False
    )
    compare_last_values(source, remote, rules, result)
    assert dict(result.counts) == {Kind.LOST: 1}


@given(source=_LOG, remote=_LOG, step=st.integers(1, 40))
def test_where_compaction_is_tolerated_each_record_is_in_a_column(
    source: list[Row], remote: list[Row], step: int
) -> None:
    rules = ComparisonRules(tolerates_compaction=True)
    found = compare(table(source), table(remote), rules, step=step)
    pairs = found.equal + found.counts[Kind.ALTERED]
    assert 2 * pairs + found.not_comparable + found.compacted == len(source) + len(remote)
