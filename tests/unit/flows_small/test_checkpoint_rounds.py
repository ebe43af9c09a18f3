"""
The checkpoint flow's rounds between two clusters in memory (behaviours section 9).
"""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from flows.checkpoint.checkpoint_store import CheckpointStore, DeletedGroups, Due, load_checkpoints
from flows.checkpoint.emission import CheckpointSelector, Emission
from flows.checkpoint.followed_groups import FollowedGroups
from mm2.config.connector_settings import CheckpointSettings
from mm2.core.filters import build_group_filter, build_topic_filter
from mm2.core.internal_records import Checkpoint, OffsetSync
from mm2.core.model import GroupId
from mm2.core.policy import build_policy
from mm2.core.translation.checkpoint_rules import Renaming
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.core.translation.offset_translation import OffsetTranslation
from mm2.errors import ClusterError, NotAuthorized, Unavailable
from mm2.kafka.client_errors import Refused
from mm2.kafka.groups.group_model import Group, GroupState, GroupType
from mm2.kafka.logs.records import Record
from tests.support.configs import A_TO_B, config_of
from tests.support.fake_groups import FakeGroups
from tests.support.followed import G1, G2, G3, G4, at, checkpoint, following
from tests.support.virtual_time import run


class Sent:
    """Writes to nowhere, and can fail."""

    def __init__(self, store: CheckpointStore) -> None:
        self._store = store
        self.works = True
        self.records: list[Due] = []

    async def write(self) -> int:
        if not self.works:
            raise Unavailable("B", "no answer")
        due = self._store.unsent()
        self.records += due
        for each in due:
            self._store.sent(each)
        return len(due)


def emission(
    source: FakeGroups, groups: FollowedGroups, store: CheckpointStore, *syncs: OffsetSync
) -> tuple[Emission, Sent]:
    known = OffsetSyncStore(must_read_to_end=False)
    for sync in syncs:
        known.handle(sync)
    known.backlog_read()
    renaming = Renaming(A_TO_B, build_policy({}), build_topic_filter({"topics": "t.*"}))
    sent = Sent(store)
    choice = CheckpointSelector(renaming, OffsetTranslation(known), store)
    target = FakeGroups("B")
    return Emission(source, target, groups=groups, choice=choice, outbox=sent), sent


def test_groups_with_offsets_on_accepted_topics_are_followed() -> None:
    """C265, C267, C269, C273; a group that the filter rejects is not even asked about."""
    source = FakeGroups("A")
    groups = following(source, topics="t2", groups="g[123]")
    run(groups.keep_current())
    assert groups.current == frozenset()
    source.put(G1, {at("t1"): 1, at("t2"): 1})
    source.put(G2, {at("t2"): 1, at("t3"): 1})
    source.put(G3, {at("t3"): 1})
    source.put(G4, {at("t2"): 1})
    source.failing = {G4}
    with capture_logs() as events:
        run(groups.refresh())
    assert groups.current == {G1, G2}
    assert [each["event"] for each in events] == ["groups.changed"]


def test_names_that_a_pattern_takes_too_long_for_stop_no_group() -> None:
    """Whoever creates topics, or commits, on the source chooses these names."""
    slow = "(a|aa)+"
    source, hostile = FakeGroups("A"), "a" * 40 + "!"
    groups = following(source, topics=f"{slow}|orders", groups=f"{slow}|g.*")
    source.put(G1, {at(hostile): 1})
    source.put(G2, {at(hostile): 1, at("orders"): 1})
    source.put(hostile, {at("orders"): 1})
    with capture_logs() as events:
        run(groups.keep_current())
        run(groups.refresh())
    assert groups.current == {G2}
    assert [each["event"] for each in events] == [*["pattern.timed_out"] * 2, "groups.changed"]
    assert not groups.wants(GroupId(hostile))


def test_a_checkpoint_of_a_group_that_takes_too_long_to_match_is_not_loaded() -> None:
    hostile = GroupId("a" * 40 + "!")

    async def read(settings: CheckpointSettings, topic: str) -> list[Record]:
        return _records(checkpoint(hostile, 1), checkpoint(G1, 1))

    group_filter = build_group_filter({"groups": "(a|aa)+|g.*"})
    loaded = run(load_checkpoints(_settings(), "c", group_filter, read=read)) or []
    assert [each.group for each in loaded] == [G1]


def test_groups_are_followed_whatever_they_are_called() -> None:
    """C099, C420, C463: Java joins ids with commas for its tasks, and loses or confuses these."""
    source, names = FakeGroups("A"), ["a,b", "x,x", ",", " g", "g "]
    groups = following(source, groups=".*")
    for name in names:
        source.put(name, {at("t"): 1})
    run(groups.keep_current())
    assert groups.current == set(names)


def test_the_first_look_is_repeated_until_it_succeeds() -> None:
    """C270, C275: without it nobody would know whom to follow."""
    source = FakeGroups("A", is_away=True)
    source.put(G1, {at("t"): 1})
    groups = following(source)

    async def look() -> None:
        looking = asyncio.create_task(groups.keep_current(), name="look")
        await asyncio.sleep(12)
        assert groups.current == frozenset()
        source.is_away = False
        await looking

    with capture_logs() as events:
        run(look())
    assert groups.current == {G1}
    assert [each["event"] for each in events] == ["groups.not_listed", "groups.changed"], "once"


def test_share_and_streams_groups_are_named_once_and_not_followed() -> None:
    """C274; those that the filter rejects are nobody's business."""
    source = FakeGroups("A")
    source.others = [
        Group(G2, GroupState.STABLE, GroupType.SHARE),
        Group(G3, GroupState.EMPTY, GroupType.STREAMS),
        Group("other", GroupState.EMPTY, GroupType.SHARE),
    ]
    groups = following(source)
    with capture_logs() as events:
        run(groups.refresh())
        run(groups.refresh())
    assert groups.current == frozenset()
    assert groups.of_other_types == {G2, G3}
    assert [(each["group"], each["type"]) for each in events] == [(G2, "SHARE"), (G3, "STREAMS")]


def test_a_group_that_is_deleted_loses_its_checkpoints_at_the_second_look() -> None:
    """Also one that was deleted while nobody looked."""
    source, store = FakeGroups("A"), CheckpointStore([checkpoint(G1, 5), checkpoint(G2, 5)])
    source.put(G2, {at("t"): 1})
    source.put(G3, {at("t"): 1})
    groups = following(source)
    groups.watch_for_absent(store.groups, DeletedGroups(store).tombstone_missing)
    run(groups.refresh())
    assert store.groups() == {G1, G2}
    run(groups.refresh())
    assert store.groups() == {G2}
    assert store.unsent()[0].deleted


def test_a_group_whose_offsets_cannot_be_listed_is_left_out_this_time() -> None:
    """C281, C282."""
    source, store = FakeGroups("A", failing={G1}), CheckpointStore()
    source.put(G1, {at("t"): 10})
    source.put(G2, {at("t"): 10})
    groups = following(source)
    groups.current = frozenset({G1, G2})
    rounds, sent = emission(source, groups, store, OffsetSync(at("t"), 10, 5))
    with capture_logs() as events:
        run(rounds.round())
    assert [each["event"] for each in events if each["log_level"] == "warning"] == [
        "checkpoint.skipped"
    ]
    assert [each.checkpoint.group for each in sent.records] == [G2]
    source.failing = set()
    run(rounds.round())
    assert [each.checkpoint.group for each in sent.records] == [G2, G1]


def test_rounds_that_go_well_are_told_to_those_who_look_closely() -> None:
    """They come at every interval, and would hide what else a log has."""
    source, store = FakeGroups("A"), CheckpointStore()
    source.put(G1, {at("t"): 10})
    groups = following(source)
    groups.current = frozenset({G1})
    rounds, _ = emission(source, groups, store, OffsetSync(at("t"), 10, 5))
    with capture_logs() as events:
        run(rounds.round())
    assert {each["log_level"] for each in events} == {"debug"}
    assert events[-1]["event"] == "checkpoint.emitted"


def test_what_cannot_be_written_is_written_in_the_next_round() -> None:
    """C281, C430: Java takes it for emitted."""
    source, store = FakeGroups("A"), CheckpointStore()
    source.put(G1, {at("t"): 10})
    groups = following(source)
    groups.current = frozenset({G1})
    rounds, sent = emission(source, groups, store, OffsetSync(at("t"), 10, 5))
    sent.works = False
    with pytest.raises(Unavailable):
        run(rounds.round())
    sent.works = True
    run(rounds.round())
    assert [each.checkpoint for each in sent.records] == [Checkpoint(G1, at("A.t"), 10, 5)]


def _settings() -> CheckpointSettings:
    return config_of().checkpoint


def _records(*checkpoints: Checkpoint) -> list[Record]:
    return [
        Record(
            topic="c",
            partition=0,
            offset=offset,
            timestamp_ms=0,
            key=each.key(),
            value=each.value(),
            headers=(("mm2.exact", b"1"),),
        )
        for offset, each in enumerate(checkpoints)
    ]


@pytest.mark.parametrize(
    ("error", "level"),
    [(NotAuthorized("B", "no"), "warning"), (Refused("B", "no"), "info")],
    ids=["may not", "cannot"],
)
def test_without_earlier_checkpoints_the_flow_goes_on_and_says_so(
    error: ClusterError, level: str
) -> None:
    """C297, C298."""

    async def read(settings: CheckpointSettings, topic: str) -> list[Record]:
        raise error

    with capture_logs() as events:
        loaded = run(load_checkpoints(_settings(), "c", build_group_filter({}), read=read))
    assert loaded is None
    assert [(each["event"], each["log_level"]) for each in events] == [
        ("checkpoints.not_loaded", level)
    ]


def test_checkpoints_are_read_once_and_a_cluster_that_is_away_is_an_error() -> None:
    """C295, C298: there is nothing to write to either."""
    known, calls = checkpoint(G1, 5), list[str]()
    records = _records(known)

    async def read(settings: CheckpointSettings, topic: str) -> list[Record]:
        calls.append(topic)
        if len(calls) == 1:
            raise Unavailable("B", "no answer")
        return records

    with pytest.raises(Unavailable):
        run(load_checkpoints(_settings(), "c", build_group_filter({}), read=read))
    (loaded,) = run(load_checkpoints(_settings(), "c", build_group_filter({}), read=read)) or []
    assert (loaded.partition, loaded.downstream_offset, loaded.exact) == (at("A.t"), 5, True)
    assert calls == ["c", "c"]
