"""Which parts of a partition are compared by themselves."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from mm2.core.verification.ranges import ComparedRange, divided, sampled
from mm2.core.verification.stream_comparison import ComparisonRules

_RULES = ComparisonRules(open_source_start=True, open_remote_start=True, pending_from=950)
_WHOLE = ComparedRange(source=(100, 1000), remote=(0, 905), rules=_RULES)


def _translate(offset: int) -> int | None:
    return None if 300 <= offset < 400 else offset - 95


def test_parts_follow_each_other_on_both_sides() -> None:
    parts = divided(_WHOLE, _translate, chunk=100)
    for before, behind in pairwise(parts):
        assert before.source[1] == behind.source[0]
        assert before.remote[1] == behind.remote[0]
    assert (parts[0].source[0], parts[-1].source[1]) == _WHOLE.source
    assert (parts[0].remote[0], parts[-1].remote[1]) == _WHOLE.remote


def test_nothing_is_cut_where_offsets_cannot_be_translated_or_may_have_no_copies() -> None:
    cuts = [part.source[0] for part in divided(_WHOLE, _translate, chunk=100)]
    assert cuts == [100, 200, 400, 500, 600, 700, 800, 900]
    assert len(divided(_WHOLE, lambda _: None, chunk=100)) == 1


def test_only_the_ends_of_a_partition_may_lack_records() -> None:
    first, *middle, last = divided(_WHOLE, _translate, chunk=100)
    assert (first.rules.open_source_start, first.rules.open_remote_start) == (True, True)
    assert first.rules.pending_from is None
    assert last.rules.pending_from == 950
    assert {part.rules for part in middle} == {ComparisonRules()}


def test_translations_that_go_back_cut_nothing() -> None:
    assert len(divided(_WHOLE, lambda offset: 500 - offset // 10, chunk=100)) == 2


def test_a_sample_has_both_ends_and_the_same_parts_for_the_same_seed() -> None:
    parts = sampled(_WHOLE, lambda offset: offset - 95, Random(3).randrange, size=10)
    assert len(parts) == 5
    assert parts == sampled(_WHOLE, lambda offset: offset - 95, Random(3).randrange, size=10)
    assert parts[0].source == (100, 110)
    assert parts[-1].source == (940, 1000)
    for part in parts[1:-1]:
        assert part.remote == (part.source[0] - 95, part.source[1] - 95)


def test_a_sample_of_offsets_that_cannot_be_translated_has_ends_that_are_open() -> None:
    head, tail = sampled(_WHOLE, lambda _: None, Random(3).randrange, size=10)
    assert head.rules.open_end
    assert tail.rules.open_source_start
    assert tail.rules.open_remote_start


def test_a_small_partition_is_no_sample() -> None:
    assert sampled(_WHOLE, _translate, Random(3).randrange, size=200) == [_WHOLE]
