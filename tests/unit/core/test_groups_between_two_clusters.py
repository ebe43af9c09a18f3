"""Where groups stand between two clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from mm2.core.failover.group_partition import GroupFacts, GroupPartition, group_partitions
from mm2.core.internal_records import Checkpoint, OffsetSync
from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.core.policy import DefaultReplicationPolicy
from mm2.core.translation.checkpoint_rules import (
    CommittedOffset,
    downstream_partition,
    upstream_partition,
)
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.core.translation.offset_translation import MappedOffset, OffsetTranslation, RunStore
from mm2.core.translation.run_codec import encode_key, encode_value
from mm2.core.translation.runs import Block, Run, Runs
from tests.support.configs import A_TO_B

_POLICY = DefaultReplicationPolicy()
_GROUP = GroupId("g")


def _partition(topic: str, number: int = 0) -> TopicPartition:
    return TopicPartition(TopicName(topic), number)


@dataclass(frozen=True)
class _Known:
    checkpoint: Checkpoint
    exact: bool
    timestamp_ms: int = 400


def _known(upstream: int, downstream: int, *, exact: bool = False) -> _Known:
    return _Known(Checkpoint(_GROUP, _partition("A.t"), upstream, downstream), exact)


def _facts(known: _Known | None = None) -> GroupFacts:
    return GroupFacts(
        now_ms=1000,
        committed={_GROUP: {_partition("t"): CommittedOffset(10)}},
        ends={_partition("t"): 30},
        positions={_partition("t"): 24},
        checkpoints={_GROUP: {_partition("A.t"): known}} if known else {},
        states={_GROUP: "EMPTY"},
        target_offsets={_GROUP: {_partition("A.t"): CommittedOffset(3)}},
    )


def _translation(kind: str) -> OffsetTranslation:
    """What is known of t-0: runs that make 10 into 7, a sync behind or before that, or nothing."""
    syncs, runs = OffsetSyncStore(must_read_to_end=False), RunStore()
    where = _partition("t")
    if kind == "exact":
        block = Block(start=0, end=20, runs=Runs([Run(3, 0, 17)]))
        runs.handle(encode_key(where, 0), encode_value(block))
    elif kind in {"approximate", "too old"}:
        syncs.handle(OffsetSync(where, 9 if kind == "approximate" else 11, 6))
    syncs.backlog_read()
    runs.backlog_read()
    return OffsetTranslation(syncs, runs)


def _standings(facts: GroupFacts, kind: str | None = None) -> list[GroupPartition]:
    return group_partitions(
        facts,
        downstream=lambda partition: (
            None if partition.topic == "not" else downstream_partition(_POLICY, A_TO_B, partition)
        ),
        upstream=lambda partition: upstream_partition(_POLICY, A_TO_B, partition),
        translation=_translation(kind) if kind else None,
    )


def test_what_both_clusters_tell_is_put_together() -> None:
    assert _standings(_facts(_known(8, 6)), "exact") == [
        GroupPartition(
            group=_GROUP,
            origin=_partition("t"),
            destination=_partition("A.t"),
            committed=10,
            translated=MappedOffset(7, exact=True),
            origin_end=30,
            copied_end=25,
            checkpoint_age_ms=600,
            target_state="EMPTY",
            target_offset=3,
            exact_since=0,
        )
    ]


def test_lags_are_counted_from_the_end_of_the_source() -> None:
    (found,) = _standings(_facts())
    assert (found.lag, found.mirror_lag) == (20, 5)


@pytest.mark.parametrize(
    ("kind", "known", "translated", "accuracy"),
    [
        ("exact", None, 7, "exact"),
        ("approximate", None, 7, "approximate"),
        ("unknown", None, None, "unknown"),
        ("too old", None, None, "too old"),
        (None, None, None, "unknown"),
        ("unknown", _known(10, 6, exact=True), 6, "exact"),
        ("unknown", _known(10, 6), 6, "approximate"),
        (None, _known(9, 6, exact=True), 6, "approximate"),
        ("too old", _known(9, 6), 6, "approximate"),
        ("unknown", _known(11, 6, exact=True), None, "unknown"),
    ],
)
def test_the_last_checkpoint_answers_where_nothing_better_does(
    kind: str | None, known: _Known | None, translated: int | None, accuracy: str
) -> None:
    (found,) = _standings(_facts(known), kind)
    assert (found.translated_offset, found.accuracy) == (translated, accuracy)


def test_without_the_source_checkpoints_are_all_there_is() -> None:
    facts = replace(_facts(_known(8, 6, exact=True)), committed=None, ends={})
    (found,) = _standings(facts)
    assert (found.origin, found.committed, found.translated_offset) == (_partition("t"), 8, 6)
    assert (found.accuracy, found.checkpoint_age_ms) == ("exact", 600)
    assert (found.lag, found.mirror_lag) == (None, None)


def test_what_is_not_known_is_left_out() -> None:
    facts = GroupFacts(
        now_ms=0,
        committed={_GROUP: {_partition("t"): CommittedOffset(1)}},
        ends={_partition("t"): 1},
        checkpoints={},
    )
    (found,) = _standings(facts)
    assert (found.lag, found.mirror_lag, found.checkpoint_age_ms) == (0, None, None)
    assert (found.target_state, found.target_offset) == (None, None)


def test_topics_that_do_not_count_are_left_out_and_the_rest_is_sorted() -> None:
    committed = {_partition(t): CommittedOffset(1) for t in ("u", "not", "t")}
    facts = replace(_facts(), committed={GroupId("h"): committed, _GROUP: committed})
    found = [(each.group, each.origin and each.origin.topic) for each in _standings(facts)]
    assert found == [("g", "t"), ("g", "u"), ("h", "t"), ("h", "u")]


@pytest.mark.parametrize("topic", ["t", "C.t", "B.t"])
def test_the_way_back_leads_to_where_one_came_from(topic: str) -> None:
    """C285, C286."""
    there = downstream_partition(_POLICY, A_TO_B, _partition(topic, 2))
    assert upstream_partition(_POLICY, A_TO_B, there) == _partition(topic, 2)
