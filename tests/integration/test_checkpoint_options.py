"""
What the checkpoint flow does beyond Java's: deleted groups, commits that are followed, reports.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from structlog.testing import capture_logs

from flows.checkpoint import commit_follower
from mm2.core.translation.runs import Run
from mm2.protocol.checkpoint_progress import (
    CHECKPOINT_KEY,
    CheckpointLatency,
    CheckpointProgress,
    decode_checkpoint_progress,
)
from tests.support.checkpointing import Pair, make_pair
from tests.support.cluster import Cluster
from tests.support.eventually import eventually_async
from tests.support.groups import needs_new_groups
from tests.support.newer_groups import join_share_group, join_streams_group
from tests.support.records import (
    DEADLINE_S,
    commit_group,
    commit_with_metadata,
    everything,
    group_member,
)
from tests.support.topics import set_topic

pytestmark = pytest.mark.broker

NEVER = {"emit.checkpoints.interval.seconds": "86400"}


@pytest.fixture
def suffix(unique: str) -> str:
    return unique[-8:]


@pytest.mark.parametrize("location", ["source", "target"])
async def test_a_safe_guess_is_emitted_again_once_it_is_known_to_be_exact(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path, location: str
) -> None:
    """The header tells them apart; the source's offsets 101 to 109 were compacted away."""
    settings = {"offset-syncs.topic.location": location}
    pair = make_pair(cluster_a, cluster_b, unique, tmp_path, settings)
    group = f"g-{unique[-8:]}"
    async with pair.running():
        pair.sync((0, 100, 100))
        pair.commit(group, {0: 105})
        assert await pair.emitted(1) == [(group, 0, 105, 101)]
        pair.exact_runs(0, 160, Run(0, 0, 101), Run(110, 101, 50))
        assert (await pair.emitted(2))[1:] == [(group, 0, 105, 101)]
        pair.commit(group, {0: 120})
        assert (await pair.emitted(3))[2:] == [(group, 0, 120, 111)]
    assert [dict(each.headers)["mm2.exact"] for each in pair.raw()] == [b"0", b"1", b"1"]


@pytest.mark.parametrize("policy", ["keep", "tombstone"])
async def test_checkpoints_of_a_deleted_group_are_kept_or_taken_back(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path, policy: str
) -> None:
    """Whatever becomes of them, the group of the target stays as it is (C308)."""
    settings = {
        "checkpoints.deleted.groups.policy": policy,
        "sync.group.offsets.enabled": "true",
    }
    pair = make_pair(cluster_a, cluster_b, unique, tmp_path, settings)
    gone, stays, later = (f"{name}-{unique[-8:]}" for name in ("gone", "stays", "later"))
    async with pair.running():
        pair.sync((0, 100, 50), (1, 100, 50))
        commit_group(pair.target, gone, {(pair.remote, 0): 70})
        for group in (gone, stays):
            pair.commit(group, {0: 100, 1: 100})
        await pair.emitted(4)
        admin = AdminClient({"bootstrap.servers": pair.source})
        admin.delete_consumer_groups([gone])[gone].result(60)
        if policy == "tombstone":
            records = await eventually_async(
                lambda: asyncio.to_thread(pair.raw), until=lambda found: len(found) == 6
            )
            deleted = records[4:]
            assert [each.value for each in deleted] == [None, None]
            assert {each.key for each in deleted} == {
                each.key for each in records[:4] if gone.encode() in (each.key or b"")
            }
        else:
            # The group is noticed to be gone; what another one commits then is all that follows.
            pair.commit(later, {0: 100})
            assert (await pair.emitted(5))[4:] == [(later, 0, 100, 50)]
        assert pair.target_offsets(gone)[0] == 70


async def test_a_checkpoint_that_the_target_refuses_keeps_no_other_one(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, suffix: str, tmp_path: Path
) -> None:
    """All that are due go together, and each by itself if that is refused (C430)."""
    pair = make_pair(cluster_a, cluster_b, unique, tmp_path, {})
    wordy, others = f"wordy-{suffix}", [f"g{n}-{suffix}" for n in range(5)]
    async with pair.with_topics():
        await asyncio.to_thread(set_topic, cluster_b, pair.checkpoints, "max.message.bytes", "400")
        pair.sync((0, 100, 50))
        await commit_with_metadata(pair.source, wordy, {(pair.topic, 0): (100, "x" * 1_000)})
        for group in others:
            pair.commit(group, {0: 100})
    async with pair.running():
        found = await pair.emitted(len(others))
    assert {group for group, *_ in found} == set(others)


def _following(cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path) -> Pair:
    settings = {**NEVER, "emit.checkpoints.follow.commits.enabled": "true"}
    return make_pair(cluster_a, cluster_b, unique, tmp_path, settings)


@pytest.fixture
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine it takes long until what follows a commit is written."""
    monkeypatch.setattr(commit_follower, "_SETTLED_S", DEADLINE_S)


@pytest.mark.usefixtures("_patience")
async def test_a_commit_is_followed_without_waiting_for_the_interval(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, suffix: str, tmp_path: Path
) -> None:
    """The interval is a day: what comes, comes because of the commit."""
    pair = _following(cluster_a, cluster_b, unique, tmp_path)
    group = f"g-{suffix}"
    async with pair.running():
        pair.sync((0, 100, 50))

        async def followed() -> None:
            # The flow follows from the end of what is there when it begins.
            pair.commit(f"first-{suffix}", {0: 100})
            assert pair.raw()

        await eventually_async(followed, until=lambda _: True)
        pair.commit(f"filtered-{suffix}-x", {0: 100})
        pair.commit(group, {0: 100})
        assert (await pair.emitted(2))[1:] == [(group, 0, 100, 50)]
        # What is committed before it is mirrored counts as soon as that is known, for a while.
        pair.commit(group, {1: 7})
        pair.sync((1, 7, 3))
        assert (await pair.emitted(3))[2:] == [(group, 1, 7, 3)]


async def test_commits_of_a_transaction_are_followed_when_it_is_committed(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, suffix: str, tmp_path: Path
) -> None:
    """Aborted ones never; neither while the transaction is open."""
    pair = _following(cluster_a, cluster_b, unique, tmp_path)
    group, other = f"g-{suffix}", f"other-{suffix}"
    async with pair.running():
        pair.sync((0, 100, 50), (0, 200, 150))

        async def followed() -> None:
            pair.commit(f"first-{suffix}", {0: 100})
            assert pair.raw()

        await eventually_async(followed, until=lambda _: True)
        with group_member(pair.source, group, [pair.topic]) as member:
            await asyncio.to_thread(_in_transaction, member, pair, 200, commit=False)
            pair.commit(other, {0: 100})
            assert (await pair.emitted(2))[1:] == [(other, 0, 100, 50)]
            await asyncio.to_thread(_in_transaction, member, pair, 100, commit=True)
        assert (await pair.emitted(3))[2:] == [(group, 0, 100, 50)]


def _in_transaction(member: Consumer, pair: Pair, offset: int, *, commit: bool) -> None:
    producer = Producer(
        {"bootstrap.servers": pair.source, "transactional.id": f"tx-{pair.topic}-{commit}"}
    )
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    where = [TopicPartition(pair.topic, 0, offset)]
    producer.send_offsets_to_transaction(where, member.consumer_group_metadata(), DEADLINE_S)
    producer.commit_transaction(DEADLINE_S) if commit else producer.abort_transaction(DEADLINE_S)


@needs_new_groups
async def test_the_flow_reports_latencies_and_groups_it_does_nothing_for(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, suffix: str, tmp_path: Path
) -> None:
    """C340; not mixed up between groups as Java's are (C425, C487)."""
    settings = {"sync.group.offsets.enabled": "true"}
    pair = make_pair(cluster_a, cluster_b, unique, tmp_path, settings)
    one, two, shared, streams = (f"{n}-{suffix}" for n in ("one", "two", "shared", "streams"))
    async with pair.with_topics():
        pair.sync((0, 100, 50))
        pair.commit(one, {0: 100})
        pair.commit(two, {0: 100})
        await join_share_group(pair.source, shared, pair.topic)
        await join_streams_group(pair.source, streams, pair.topic)
    with group_member(pair.target, two, [pair.remote]), capture_logs() as events:
        async with pair.running():
            reports = await eventually_async(
                lambda: asyncio.to_thread(_reports, pair),
                # What is written and what is synced may be told in different reports.
                until=lambda found: bool(found[-1].active) and len(_latencies(found)) > 1,
            )
    latencies = _latencies(reports)
    assert latencies.keys() == {(one, pair.remote, 0), (two, pair.remote, 0)}
    for each in latencies.values():
        assert 0 <= each.min_ms <= each.avg_ms <= each.max_ms
    assert (reports[-1].groups, reports[-1].active) == (2, (two,))
    assert reports[-1].other_types == (shared, streams)
    said = [(event["event"], event.get("group")) for event in events]
    for group in (shared, streams):
        assert said.count(("group.not_followed", group)) == 1
    assert said.count(("group_offsets.active", two)) == 1


def _latencies(reports: list[CheckpointProgress]) -> dict[tuple[str, str, int], CheckpointLatency]:
    """The last one of each partition of a group."""
    return {
        (each.group, each.topic, each.partition): each
        for report in reports
        for each in report.latencies
    }


def _reports(pair: Pair) -> list[CheckpointProgress]:
    topic = f"mm2-progress.{pair.config.flow.source}.internal"
    return [
        decode_checkpoint_progress(each.value)
        for each in everything(pair.target, topic)
        if each.key == CHECKPOINT_KEY
    ]


@needs_new_groups
async def test_a_share_group_of_the_same_name_on_the_target_is_left_alone(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, suffix: str, tmp_path: Path
) -> None:
    settings = {"sync.group.offsets.enabled": "true"}
    pair = make_pair(cluster_a, cluster_b, unique, tmp_path, settings)
    shared, other = f"shared-{suffix}", f"other-{suffix}"
    async with pair.with_topics():
        pair.sync((0, 100, 60))
        pair.commit(shared, {0: 100})
        pair.commit(other, {0: 100})
        await join_share_group(pair.target, shared, pair.remote)
    with capture_logs() as events:
        async with pair.running():
            await eventually_async(
                lambda: asyncio.to_thread(pair.target_offsets, other),
                until=lambda offsets: offsets == {0: 60},
            )
            pair.commit(other, {0: 101})
            pair.sync((0, 101, 61))
            await eventually_async(
                lambda: asyncio.to_thread(pair.target_offsets, other),
                until=lambda offsets: offsets == {0: 61},
            )
    said = [event["event"] for event in events if event.get("group") == shared]
    assert said.count("group_offsets.other_type") == 1
    assert set(said) == {"group_offsets.other_type", "checkpoint.chosen"}
