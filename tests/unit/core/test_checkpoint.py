"""Behaviours section 9: checkpoints and the offsets of groups on the target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.filters import TopicFilter, build_topic_filter
from mm2.core.internal_records import Checkpoint, OffsetSync
from mm2.core.model import ClusterAlias, GroupId, SourceAndTarget, TopicName, TopicPartition
from mm2.core.policy import DefaultReplicationPolicy
from mm2.core.translation.checkpoint_rules import (
    CommittedOffset,
    Renaming,
    checkpoints_for_group,
    downstream_partition,
    group_offsets_to_sync,
    noted,
)
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.core.translation.offset_translation import MappedOffset, OffsetTranslation
from mm2.core.translation.runs import UNKNOWN_LOGS, Logs

FLOW = SourceAndTarget(ClusterAlias("source1"), ClusterAlias("target2"))
POLICY = DefaultReplicationPolicy()
GROUP = GroupId("group9")


def at(topic: str, partition: int = 0) -> TopicPartition:
    return TopicPartition(TopicName(topic), partition)


def store_of(*syncs: OffsetSync) -> OffsetSyncStore:
    store = OffsetSyncStore(must_read_to_end=False)
    for sync in syncs:
        store.handle(sync)
    store.backlog_read()
    return store


@dataclass(frozen=True, slots=True)
class Told:
    """Translates as it was told."""

    answers: Mapping[int, MappedOffset]
    about: Logs = UNKNOWN_LOGS

    def explain(self, _: TopicPartition, upstream: int) -> MappedOffset | None:
        return self.answers.get(upstream)

    def logs(self, _: TopicPartition) -> Logs:
        return self.about


def checkpoints(
    store: OffsetSyncStore | Told,
    committed: Mapping[TopicPartition, int | None],
    last: Iterable[Checkpoint] = (),
    topic_filter: TopicFilter | None = None,
) -> list[Checkpoint]:
    known = {each.partition: each for each in last}
    return [
        each
        for each in checkpoints_for_group(
            GROUP,
            {
                partition: None if offset is None else CommittedOffset(offset, "meta")
                for partition, offset in committed.items()
            },
            renaming=Renaming(FLOW, POLICY, topic_filter or build_topic_filter({})),
            translator=OffsetTranslation(store) if isinstance(store, OffsetSyncStore) else store,
            last=known,
        )
        if noted(each, known.get(each.partition), None) is not None
    ]


@pytest.mark.parametrize(
    ("upstream", "downstream"),
    [
        ("topic3", "source1.topic3"),
        ("target2.topic3", "topic3"),
        ("target2.other.topic3", "topic3"),
        ("source6.topic7", "source1.source6.topic7"),
    ],
)
def test_topics_are_renamed_for_the_target(upstream: str, downstream: str) -> None:
    """C285, C286."""
    assert downstream_partition(POLICY, FLOW, at(upstream, 4)) == at(downstream, 4)


def test_a_checkpoint_is_what_the_group_committed_translated() -> None:
    """C287, C290."""
    store = store_of(OffsetSync(at("topic1", 2), 3, 4), OffsetSync(at("target2.topic5", 6), 7, 8))
    assert checkpoints(store, {at("topic1", 2): 10, at("target2.topic5", 6): 12}) == [
        Checkpoint(GROUP, at("source1.topic1", 2), 10, 5, "meta"),
        Checkpoint(GROUP, at("topic5", 6), 12, 9, "meta"),
    ]
    assert checkpoints(store, {at("target2.topic5", 6): 7}) == [
        Checkpoint(GROUP, at("topic5", 6), 7, 8, "meta")
    ]


def test_a_checkpoint_says_of_which_topics_it_is() -> None:
    about = Logs(UUID(int=1), UUID(int=2))
    (found,) = checkpoints(Told({10: MappedOffset(5, exact=True)}, about), {at("t"): 10})
    assert found.logs == about


def test_that_a_checkpoint_says_of_which_topics_it_is_is_news_once() -> None:
    """Earlier releases did not: idle groups would never be told from those of a former copy."""
    about = Logs(UUID(int=1), UUID(int=2))
    told = {10: MappedOffset(5, exact=True), 11: MappedOffset(5, exact=False)}
    first = checkpoints(Told(told), {at("t"): 10})
    second = checkpoints(Told(told, about), {at("t"): 10}, last=first)
    assert [each.logs for each in second] == [about]
    assert checkpoints(Told(told, about), {at("t"): 10}, last=second) == []
    assert checkpoints(Told(told), {at("t"): 10}, last=second) == []
    assert checkpoints(Told(told, about), {at("t"): 11}, last=first) == []
    guess = Told({10: MappedOffset(5, exact=False)}, about)
    assert checkpoints(guess, {at("t"): 10}, last=first) == [], "what was exact stays so"


def test_no_checkpoint_without_a_translation() -> None:
    """C284, C288, C289."""
    store = store_of(OffsetSync(at("topic1", 0), 5, 4))
    committed = {at("topic1", 0): 4, at("topic1", 1): 9, at("topic2"): None}
    assert checkpoints(store, committed) == []


def test_no_checkpoint_for_a_topic_that_is_filtered_out() -> None:
    """C284."""
    store = store_of(OffsetSync(at("topic1"), 5, 4))
    none = build_topic_filter({"topics": ""})
    assert checkpoints(store, {at("topic1"): 5}, topic_filter=none) == []


def test_checkpoints_do_not_go_back_when_the_store_does() -> None:
    """C291, C292."""
    store = store_of(OffsetSync(at("t"), 11, 4), OffsetSync(at("t"), 12, 5))
    first = checkpoints(store, {at("t"): 13})
    assert [each.downstream_offset for each in first] == [6]
    assert checkpoints(store, {at("t"): 13}, last=first) == []
    for upstream in range(13, 18):
        store.handle(OffsetSync(at("t"), upstream, upstream - 7))
    assert store.translate(at("t"), 13) == 5
    assert checkpoints(store, {at("t"): 13}, last=first) == []
    rewound = checkpoints(store, {at("t"): 12}, last=first)
    assert [(each.upstream_offset, each.downstream_offset) for each in rewound] == [(12, 5)]


def test_a_restart_goes_on_from_the_last_checkpoints() -> None:
    """C293, C294."""
    before = store_of(*(OffsetSync(at("t"), offset, offset - 100) for offset in (100, 200, 300)))
    first = checkpoints(before, {at("t"): 250})
    assert [(each.upstream_offset, each.downstream_offset) for each in first] == [(250, 101)]
    after = store_of(*(OffsetSync(at("t"), offset, offset - 100) for offset in (175, 475)))
    assert checkpoints(after, {at("t"): 250}, last=first) == []
    assert checkpoints(after, {at("t"): 370}, last=first) == []
    further = checkpoints(after, {at("t"): 476}, last=first)
    assert [each.downstream_offset for each in further] == [376]


@pytest.mark.parametrize("location", ["same commit", "later commit"])
def test_that_an_offset_turns_out_to_be_exact_is_news_once(location: str) -> None:
    """The offset is the one that was told before: C291 alone would keep silent."""
    upstream = 10 if location == "same commit" else 11
    guess, sure = (
        Told({10: MappedOffset(5, exact=False)}),
        Told({upstream: MappedOffset(5, exact=True)}),
    )
    first = checkpoints(guess, {at("t"): 10})
    assert [each.exact for each in first] == [False]
    second = checkpoints(sure, {at("t"): upstream}, last=first)
    assert second == [Checkpoint(GROUP, at("source1.t"), upstream, 5, "meta", exact=True)]
    assert checkpoints(sure, {at("t"): upstream}, last=second) == []
    assert checkpoints(guess, {at("t"): 10}, last=[replace(second[0], upstream_offset=10)]) == []


@pytest.mark.parametrize("upstream", [10, 12])
@pytest.mark.parametrize("exact", [True, False])
def test_an_exact_offset_before_what_was_told_is_news_for_the_copy_was_made_anew(
    upstream: int, *, exact: bool
) -> None:
    """
    Unlike C294: neither what is exact nor a guess was ever past the truth in the same log.

    A guess alone, which may only be worse than the one before, is still not emitted (C292, C293).
    """
    first = checkpoints(Told({10: MappedOffset(9, exact=exact)}), {at("t"): 10})
    guess, sure = MappedOffset(4, exact=False), MappedOffset(5, exact=True)
    assert checkpoints(Told({upstream: guess}), {at("t"): upstream}, last=first) == []
    second = checkpoints(Told({upstream: sure}), {at("t"): upstream}, last=first)
    assert second == [Checkpoint(GROUP, at("source1.t"), upstream, 5, "meta", exact=True)]
    assert checkpoints(Told({upstream: sure}), {at("t"): upstream}, last=second) == []


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9), st.booleans()), max_size=30))
def test_downstream_offsets_go_forward_unless_the_group_goes_back(
    steps: list[tuple[int, int, bool]],
) -> None:
    """C291-C294, and that nothing exact is hidden: with guesses at most the truth, which grows."""
    last: list[Checkpoint] = []
    for upstream, short_by, exact in steps:
        truth = 2 * upstream
        offset = truth if exact else max(0, truth - short_by)
        found = checkpoints(
            Told({upstream: MappedOffset(offset, exact=exact)}), {at("t"): upstream}, last=last
        )
        before, last = last, found or last
        assert last[0].downstream_offset <= 2 * last[0].upstream_offset
        if exact and (not before or upstream >= before[0].upstream_offset):
            assert last[0].downstream_offset == truth
            assert last[0].exact
        if before and found and upstream >= before[0].upstream_offset:
            assert found[0].downstream_offset >= before[0].downstream_offset


def checkpoint(topic: str, offset: int) -> Checkpoint:
    return Checkpoint(GROUP, at(topic), 0, offset, "meta")


def test_offsets_of_an_idle_group_go_forward() -> None:
    """C301, C302, C307."""
    found = group_offsets_to_sync(
        [checkpoint("t1", 101), checkpoint("t2", 51), checkpoint("t3", 7), checkpoint("t4", 8)],
        {at("t1"): CommittedOffset(100), at("t2"): CommittedOffset(51), at("t3"): None},
    )
    assert found == {
        at("t1"): CommittedOffset(101, "meta"),
        at("t3"): CommittedOffset(7, "meta"),
        at("t4"): CommittedOffset(8, "meta"),
    }


def test_a_group_unknown_on_the_target_gets_all_offsets() -> None:
    """C301, C305, C309."""
    found = group_offsets_to_sync([checkpoint("t1", 1), checkpoint("t2", 2)], None)
    assert found == {at("t1"): CommittedOffset(1, "meta"), at("t2"): CommittedOffset(2, "meta")}
