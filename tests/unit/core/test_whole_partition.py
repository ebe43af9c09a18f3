"""Where the comparison of a partition begins, and which of its parts are compared how."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from mm2.core.model import TopicName, TopicPartition
from mm2.core.verification.last_values import LastValueRules
from mm2.core.verification.ranges import ComparedRange
from mm2.core.verification.whole_partition import PartitionBounds, parts_of, without_source

_SEEN = PartitionBounds(
    source=(100, 1000), remote=(50, 905), position=950, begins_late=False, is_compacted=True
)


def _unknown(_: int) -> None:
    return None


def _only(seen: PartitionBounds, *, known: bool = False) -> tuple[ComparedRange, LastValueRules]:
    """The only part, where remote offsets are either unknown or smaller by 95."""

    def translate(offset: int) -> int | None:
        return offset - 95 if known else None

    def reverse(offset: int) -> int | None:
        return offset + 95 if known else None

    ((part, rules),) = parts_of(seen, translate, reverse, None)
    assert rules is not None
    return part, rules


def _opened(rules: LastValueRules) -> tuple[bool, bool]:
    return rules.open_source_start, rules.open_remote_start


def test_only_a_log_that_has_lost_its_beginning_accounts_for_missing_records() -> None:
    for source, remote in ((0, 0), (100, 0), (0, 50), (100, 50)):
        seen = replace(_SEEN, source=(source, 1000), remote=(remote, 905))
        assert _opened(_only(seen)[1]) == (remote > 0, source > 0)


def test_nothing_need_be_missing_where_it_is_known_what_belongs_together() -> None:
    part, rules = _only(_SEEN, known=True)
    assert (part.source, part.remote) == ((145, 1000), (50, 905))
    assert _opened(rules) == (False, False)
    part, rules = _only(replace(_SEEN, source=(200, 1000)), known=True)
    assert (part.source, part.remote) == ((200, 1000), (105, 905))
    assert _opened(rules) == (False, False)


def test_where_the_copy_begins_may_be_known_though_the_sources_beginning_is_not() -> None:
    seen = replace(_SEEN, source=(0, 1000))
    ((part, rules),) = parts_of(seen, _unknown, lambda offset: offset + 95, None)
    assert (part.source, part.remote) == ((145, 1000), (50, 905))
    assert rules is not None
    assert _opened(rules) == (False, False)


def test_what_is_missing_before_the_first_copy_is_lost_unless_the_flow_began_late() -> None:
    seen = replace(_SEEN, source=(0, 1000), remote=(0, 905))
    ((part, rules),) = parts_of(seen, _unknown, lambda offset: offset + 95, None)
    assert part.source == (0, 1000)
    assert rules is not None
    assert _opened(rules) == (False, False)
    late = replace(seen, begins_late=True)
    ((part, _),) = parts_of(late, _unknown, lambda offset: offset + 95, None)
    assert part.source == (95, 1000)
    assert _opened(_only(late)[1]) == (True, False)


def test_a_compacted_partition_without_a_position_is_known_to_have_none() -> None:
    assert _only(replace(_SEEN, position=None))[1].pending_from is None
    assert _only(_SEEN)[1].pending_from == 950


def test_a_sample_of_a_small_compacted_partition_is_all_of_it_by_the_same_rules() -> None:
    drawn = parts_of(_SEEN, _unknown, _unknown, Random(1).randrange)
    assert drawn == parts_of(_SEEN, _unknown, _unknown, None)


def test_other_partitions_are_compared_record_by_record() -> None:
    plain = replace(_SEEN, is_compacted=False)
    large = replace(_SEEN, source=(0, 1_000_000), remote=(0, 1_000_000))
    for seen in (plain, large):
        parts = parts_of(seen, _unknown, _unknown, Random(1).randrange)
        assert [rules for _, rules in parts] == [None] * len(parts)


def test_remote_partitions_that_the_source_does_not_have_are_those_behind_its_last() -> None:
    topic, gone, copy = TopicName("t"), TopicName("gone"), TopicName("A.t")
    topics = {topic: copy, gone: TopicName("A.gone")}
    sources = [TopicPartition(topic, number) for number in range(2)]
    remotes = [TopicPartition(copy, number) for number in range(4)]
    others = [TopicPartition(TopicName(name), 7) for name in ("A.gone", "another")]
    found = list(without_source(topics, sources, [*others, *remotes]))
    assert found == [(TopicPartition(topic, at), TopicPartition(copy, at)) for at in (2, 3)]
