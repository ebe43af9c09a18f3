"""
What the checkpoint flow remembers and decides, without a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from flows.checkpoint.checkpoint_store import CheckpointStore, DeletedGroups, Due, last_checkpoints
from flows.checkpoint.emission import CheckpointSelector
from flows.checkpoint.followed_groups import absent, followed
from flows.checkpoint.translation_followers import feed
from mm2.checkpoints.group_offset_writer import interference, is_active, is_idle
from mm2.core.filters import build_group_filter, build_topic_filter
from mm2.core.internal_records import Checkpoint, OffsetSync
from mm2.core.model import ClusterAlias, GroupId, SourceAndTarget, TopicName, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.translation.checkpoint_rules import CommittedOffset, Renaming
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.core.translation.offset_translation import OffsetTranslation
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.groups.group_model import Group, GroupState, GroupType
from mm2.kafka.logs.records import Record

G1, G2, G3 = GroupId("g1"), GroupId("g2"), GroupId("g3")
T = TopicName("t")


def _checkpoint(
    group: GroupId = G1, partition: int = 0, up: int = 10, down: int = 5, metadata: str = ""
) -> Checkpoint:
    return Checkpoint(group, TopicPartition(TopicName("A.t"), partition), up, down, metadata)


def _record(offset: int, key: bytes | None, value: bytes | None) -> Record:
    return Record(topic="c", partition=0, offset=offset, timestamp_ms=offset, key=key, value=value)


def _written(*checkpoints: Checkpoint) -> list[Record]:
    return [_record(n, each.key(), each.value()) for n, each in enumerate(checkpoints)]


def test_the_last_checkpoint_of_each_group_and_partition_wins() -> None:
    """C296."""
    older, newer, other = _checkpoint(down=5), _checkpoint(down=3), _checkpoint(partition=1)
    found = last_checkpoints(_written(older, other, newer), build_group_filter({}))
    assert sorted(found, key=lambda each: each.partition) == [newer, other]


def test_checkpoints_of_groups_that_are_not_followed_are_ignored() -> None:
    """C296."""
    written = _written(_checkpoint(G1), _checkpoint(G2))
    assert last_checkpoints(written, build_group_filter({"groups": "g2"})) == [_checkpoint(G2)]


def test_a_malformed_checkpoint_is_ignored_with_a_warning() -> None:
    """C296."""
    records = [_record(0, b"", b""), *_written(_checkpoint())]
    with capture_logs() as events:
        assert last_checkpoints(records, build_group_filter({})) == [_checkpoint()]
    assert [(each["event"], each["log_level"]) for each in events] == [
        ("checkpoint.ignored", "warning")
    ]


def test_a_tombstone_removes_a_checkpoint_and_nothing_else() -> None:
    """C429: Java's load ends here."""
    gone, stays = _checkpoint(G1), _checkpoint(G2)
    records = [*_written(gone, stays), _record(2, gone.key(), None), _record(3, None, None)]
    assert last_checkpoints(records, build_group_filter({})) == [stays]


def test_checkpoints_of_before_the_start_count_but_are_not_written_again() -> None:
    """C293, C306."""
    store = CheckpointStore([_checkpoint()])
    assert store.of_group(G1) == {_checkpoint().partition: _checkpoint()}
    assert store.of_group(G2) == {}
    assert store.unsent() == []


def test_a_checkpoint_stays_due_until_it_is_written() -> None:
    """C430: Java takes it for emitted as soon as it is chosen."""
    store = CheckpointStore()
    store.add(_checkpoint(), 77)
    assert store.unsent() == store.unsent() == [Due(_checkpoint(), 77)]
    store.sent(Due(_checkpoint(), 77))
    assert store.unsent() == []
    assert store.of_group(G1) == {_checkpoint().partition: _checkpoint()}


def test_what_replaced_a_checkpoint_while_it_was_written_stays_due() -> None:
    """C430."""
    store = CheckpointStore()
    store.add(_checkpoint(down=5), 1)
    store.add(_checkpoint(down=6), 2)
    store.sent(Due(_checkpoint(down=5), 1))
    assert store.unsent() == [Due(_checkpoint(down=6), 2)]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([G1, G2]),
            st.integers(0, 2),
            st.integers(0, 9) | st.none(),
            st.booleans(),
        )
    )
)
def test_nothing_that_is_added_or_taken_back_is_lost_whatever_fails(
    steps: list[tuple[GroupId, int, int | None, bool]],
) -> None:
    """C430: what is unsent at the end, and what was sent, are together the last of each."""
    store, topic = CheckpointStore(), dict[tuple[GroupId, TopicPartition], Checkpoint]()
    last = dict[tuple[GroupId, TopicPartition], Checkpoint]()

    def write(due: Due) -> None:
        key = due.checkpoint.group, due.checkpoint.partition
        topic.pop(key, None)
        if not due.deleted:
            topic[key] = due.checkpoint

    for group, partition, down, works in steps:
        if down is None:
            store.delete(group, 0)
            last = {key: each for key, each in last.items() if key[0] != group}
        else:
            added = _checkpoint(group, partition, down=down)
            store.add(added, 0)
            last[added.group, added.partition] = added
        for due in store.unsent() if works else []:
            write(due)
            store.sent(due)
    for due in store.unsent():
        write(due)
    assert topic == last
    assert store.groups() == {group for group, _ in last}


def test_a_group_that_is_absent_twice_in_a_row_loses_its_checkpoints() -> None:
    """Policy ``tombstone``; once may be a cluster that has just come back."""
    store = CheckpointStore([_checkpoint(G1), _checkpoint(G1, 1), _checkpoint(G2)])
    deleted, both = DeletedGroups(store), frozenset({G1, G3})
    for seen in (both, frozenset[GroupId](), both):
        deleted.tombstone_missing(seen)
        assert store.groups() == {G1, G2}
    deleted.tombstone_missing(both)
    assert store.groups() == {G2}
    assert [(due.checkpoint, due.deleted) for due in store.unsent()] == [
        (_checkpoint(G1), True),
        (_checkpoint(G1, 1), True),
    ]


def test_a_group_is_absent_if_it_is_not_listed_and_has_no_offsets() -> None:
    """C274: a broker that has just started lists nothing, but still answers about offsets."""
    committed: Mapping[GroupId, list[TopicPartition] | ClusterError] = {
        G1: [],
        G2: _partitions("t"),
        G3: Unavailable("A", "no answer"),
        GroupId("member"): [],
    }
    assert absent(committed, {GroupId("member")}) == {G1}


def _partitions(*topics: str) -> list[TopicPartition]:
    return [TopicPartition(TopicName(topic), 0) for topic in topics]


def test_groups_with_an_offset_for_a_topic_that_counts_are_followed() -> None:
    """C272, C273."""
    committed: Mapping[GroupId, list[TopicPartition] | ClusterError] = {
        G1: _partitions("t1", "t2"),
        G2: _partitions("t2", "t3"),
        G3: _partitions("t3"),
        GroupId("none"): [],
    }
    only_t2, nothing = build_topic_filter({"topics": "t2"}), build_topic_filter({"topics": ""})
    assert followed(committed, topic_filter=only_t2, before=frozenset()) == {G1, G2}
    assert followed(committed, topic_filter=nothing, before=frozenset({G1})) == frozenset()


def test_a_group_whose_offsets_cannot_be_listed_stays_as_it_was() -> None:
    """C275: a failure is no reason to give up what is known."""
    failed = Unavailable("A", "no answer")
    topics = build_topic_filter({})
    assert followed({G1: failed, G2: failed}, topic_filter=topics, before=frozenset({G1})) == {G1}


@pytest.mark.parametrize("state", [None, *GroupState])
def test_only_absent_and_empty_groups_may_be_written(state: GroupState | None) -> None:
    """C309, KAFKA-19794 (C424)."""
    described = None if state is None else Group("g1", state)
    assert is_idle(G1, described) is (state in {None, GroupState.EMPTY})


@pytest.mark.parametrize("state", [None, *GroupState])
def test_groups_with_members_are_active(state: GroupState | None) -> None:
    described = None if state is None else Group("g1", state)
    assert is_active(described) is (state not in {None, GroupState.EMPTY})
    assert not is_active(Unavailable("B", "no answer"))


_WRITTEN = {TopicPartition(T, 0): CommittedOffset(5)}
_EMPTY = Group("g1", GroupState.EMPTY, GroupType.CONSUMER, 3)


@pytest.mark.parametrize(
    ("before", "after", "stands", "reason"),
    [
        (_EMPTY, _EMPTY, _WRITTEN, None),
        (None, _EMPTY, _WRITTEN, None),
        (_EMPTY, _EMPTY, {**_WRITTEN, TopicPartition(T, 1): CommittedOffset(1)}, None),
        (_EMPTY, Group("g1", GroupState.STABLE), _WRITTEN, "members have joined"),
        (None, Group("g1", GroupState.PREPARING_REBALANCE), _WRITTEN, "members have joined"),
        (
            _EMPTY,
            Group("g1", GroupState.EMPTY, GroupType.CONSUMER, 5),
            _WRITTEN,
            "members have come and gone",
        ),
        (
            _EMPTY,
            _EMPTY,
            {TopicPartition(T, 0): CommittedOffset(4)},
            "other offsets were committed",
        ),
        (_EMPTY, _EMPTY, {}, "other offsets were committed"),
    ],
)
def test_what_others_do_while_offsets_are_written_is_seen(
    before: Group | None,
    after: Group,
    stands: Mapping[TopicPartition, CommittedOffset],
    reason: str | None,
) -> None:
    """KAFKA-19794 (C424)."""
    assert interference(before, after, _WRITTEN, stands) == reason


def test_a_group_that_cannot_be_described_is_not_written() -> None:
    """KAFKA-19794 (C424): Java takes it for a new one."""
    with capture_logs() as events:
        assert not is_idle(G1, Unavailable("B", "no answer"))
    assert [each["event"] for each in events] == ["group_offsets.not_described"]


@pytest.mark.parametrize(
    ("key", "value"),
    [(b"", b""), (None, bytes(16)), (OffsetSync(TopicPartition(T, 0), 1, 1).key(), None)],
)
def test_a_record_that_is_no_offset_sync_is_passed_over(
    key: bytes | None, value: bytes | None
) -> None:
    """C428: it ends Java's start."""
    store = OffsetSyncStore(must_read_to_end=True)
    with capture_logs() as events:
        feed(store, _record(7, key, value))
    assert [(each["event"], each["offset"]) for each in events] == [("offset_sync.ignored", 7)]


def test_choosing_remembers_what_was_chosen_and_never_goes_back() -> None:
    """C280, C290-C292: the syncs 13->6 to 17->10 make the translation of 13 fall back to 5."""
    flow = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
    renaming = Renaming(flow, build_policy({}), build_topic_filter({"topics": "t"}))
    where, store = TopicPartition(T, 0), CheckpointStore()
    syncs = OffsetSyncStore(must_read_to_end=False)
    choice = CheckpointSelector(renaming, OffsetTranslation(syncs), store)

    def news(up: int, now_ms: int) -> int:
        offset = CommittedOffset(up, "note")
        found = choice.found(G1, {where: offset, TopicPartition(TopicName("o"), 0): offset})
        return sum(choice.take(each, {}, now_ms) for each in found)

    for up, down in ((11, 4), (12, 5)):
        feed(store=syncs, record=_sync(up, down))
    assert news(13, 1) == 0  # the backlog is not read (C239)
    syncs.backlog_read()
    assert news(13, 2) == 1
    assert store.unsent() == [Due(_checkpoint(up=13, down=6, metadata="note"), 2)]
    for up in range(13, 18):
        feed(store=syncs, record=_sync(up, up - 7))
    assert syncs.translate(where, 13) == 5
    assert news(13, 3) == 0
    assert news(12, 4) == 1
    assert store.unsent() == [Due(_checkpoint(up=12, down=5, metadata="note"), 4)]


def _sync(up: int, down: int) -> Record:
    sync = OffsetSync(TopicPartition(T, 0), up, down)
    return _record(0, sync.key(), sync.value())
