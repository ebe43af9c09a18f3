"""
Checkpoints and group offsets on real clusters; offset syncs are written by hand, in Java's bytes.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from structlog.testing import capture_logs

from mm2.config.offset_topics import offset_syncs_topic
from mm2.core.model import TopicName
from mm2.core.model import TopicPartition as OurPartition
from mm2.core.policy import build_policy
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.kafka.admin import Admin
from tests.support.checkpointing import Pair, make_pair, text_bytes
from tests.support.cluster import Cluster
from tests.support.eventually import eventually, eventually_async
from tests.support.groups import PROTOCOLS
from tests.support.records import (
    Sample,
    commit_group,
    commit_with_metadata,
    produce,
)

pytestmark = pytest.mark.broker


@pytest.fixture
def pair(cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path) -> Pair:
    return make_pair(cluster_a, cluster_b, unique, tmp_path, {})


@pytest.fixture
def syncing(cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path) -> Pair:
    settings = {"sync.group.offsets.enabled": "true"}
    return make_pair(cluster_a, cluster_b, unique, tmp_path, settings)


@pytest.fixture
def suffix(unique: str) -> str:
    return unique[-8:]


@pytest.mark.parametrize("location", ["source", "target"])
async def test_what_a_group_committed_becomes_a_checkpoint_in_javas_bytes(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path, location: str
) -> None:
    """C283, C284, C287, C288; records of the syncs topic that are none are passed over (C428)."""
    settings = {"offset-syncs.topic.location": location}
    pair = make_pair(cluster_a, cluster_b, unique, tmp_path, settings)
    group = f"g-{unique[-8:]}"
    async with pair.with_topics():
        pair.commit(group, {0: 10, 1: 3})
        pair.sync((0, 3, 4), (0, 8, 9))
        where = offset_syncs_topic(pair.config, build_policy(pair.config.source.properties))
        garbage = [Sample(key=b"?", value=b""), Sample(key=text_bytes("x") + bytes(4), value=None)]
        produce(pair.source if location == "source" else pair.target, where, garbage)
    async with pair.running():
        await pair.emitted(1)
    (sample,) = pair.raw()
    assert sample.key == text_bytes(group) + text_bytes(pair.remote) + struct.pack(">i", 0)
    assert sample.value == struct.pack(">hqqh", 0, 10, 10, 0)
    assert sample.headers == (("mm2.exact", b"0"), ("mm2.target.commit", b"given -1"))


async def test_new_groups_are_found_and_checkpoints_follow_them(pair: Pair, suffix: str) -> None:
    """C265, C272, C275, C279, C291: the topic is there, and groups of the target are let be."""
    async with pair.running():
        pair.sync((0, 100, 50))
        pair.commit(f"new-{suffix}", {0: 100})
        pair.commit(f"filtered-{suffix}-x", {0: 100})
        assert await pair.emitted(1) == [(f"new-{suffix}", 0, 100, 50)]
        pair.sync((0, 200, 150))
        pair.commit(f"new-{suffix}", {0: 250})
        found = await pair.emitted_until((f"new-{suffix}", 0, 250, 151))
        # Of a commit that is seen before the sync it is first said what the earlier sync tells.
        assert found[1:-1] in ([], [(f"new-{suffix}", 0, 250, 51)])
        # The group goes back: that is news, though it leads backwards downstream.
        pair.commit(f"new-{suffix}", {0: 110})
        after = len(found)
        assert (await pair.emitted(after + 1))[after:] == [(f"new-{suffix}", 0, 110, 51)]
    assert pair.target_offsets(f"new-{suffix}") == {}


async def test_a_restart_goes_on_from_the_checkpoints_that_were_emitted(
    pair: Pair, suffix: str
) -> None:
    """C293: the store of syncs has rewound meanwhile, the checkpoints must not."""
    group = f"g-{suffix}"
    async with pair.with_topics():
        pair.commit(group, {0: 250})
        pair.sync(*[(0, at, at) for at in (100, 200, 300)])
    async with pair.running():
        assert await pair.emitted(1) == [(group, 0, 250, 201)]
    pair.sync(*[(0, at, at) for at in (175, 275, 375, 475)])
    # Translates to no more than 201, which was emitted; partition 1 shows that a round has passed.
    pair.sync((1, 5, 5))
    pair.commit(group, {0: 260, 1: 5})
    async with pair.running():
        assert (await pair.emitted(2))[1:] == [(group, 1, 5, 5)]
        pair.commit(group, {0: 400})
        assert (await pair.emitted(3))[2:] == [(group, 0, 400, 376)]


async def test_idle_groups_of_the_target_are_brought_forward_and_never_back(
    syncing: Pair, suffix: str
) -> None:
    """C301, C302, C307, C309."""
    absent, behind, ahead = (f"{name}-{suffix}" for name in ("absent", "behind", "ahead"))
    async with syncing.with_topics():
        for group in (absent, behind, ahead):
            syncing.commit(group, {0: 100, 1: 100})
        commit_group(syncing.target, behind, {(syncing.remote, 0): 20})
        commit_group(syncing.target, ahead, {(syncing.remote, 0): 90, (syncing.remote, 1): 10})
        syncing.sync((0, 100, 60), (1, 100, 61))
    async with syncing.running():
        await eventually_async(
            lambda: asyncio.to_thread(syncing.target_offsets, ahead),
            until=lambda offsets: offsets == {0: 90, 1: 61},
        )
        for group in (absent, behind):
            await eventually_async(
                lambda group=group: asyncio.to_thread(syncing.target_offsets, group),  # type: ignore[misc]
                until=lambda offsets: offsets == {0: 60, 1: 61},
            )
        # Upstream goes back; what follows for another group shows that a round has passed.
        syncing.commit(behind, {0: 100, 1: 50})
        syncing.sync((0, 300, 260))
        syncing.commit(absent, {0: 300})
        await eventually_async(
            lambda: asyncio.to_thread(syncing.target_offsets, absent),
            until=lambda offsets: offsets == {0: 260, 1: 61},
        )
        assert syncing.target_offsets(behind) == {0: 60, 1: 61}


async def test_a_commits_metadata_reach_the_group_on_the_target(syncing: Pair, suffix: str) -> None:
    """C290, C305."""
    group, note = f"noted-{suffix}", "batch \u00fc 7"
    where = (syncing.topic, 0)
    async with syncing.with_topics():
        await commit_with_metadata(syncing.source, group, {where: (100, note)})
        syncing.sync((0, 100, 60))
    async with syncing.running():
        await syncing.emitted(1)
        admin = Admin("t", {"bootstrap.servers": syncing.target})
        try:
            synced = await eventually_async(lambda: admin.list_group_offsets(group))
        finally:
            await admin.close()
    remote = TopicName(syncing.remote)
    assert synced == {OurPartition(remote, 0): CommittedOffset(60, note)}
    (sample,) = syncing.raw()
    assert sample.value == struct.pack(">hqq", 0, 100, 60) + text_bytes(note)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_group_with_members_on_the_target_is_left_alone(
    syncing: Pair, suffix: str, protocol: str
) -> None:
    """KAFKA-19794 (C304, C424): Java writes to such a group, and only the broker stops it."""
    active, other = f"active-{suffix}", f"other-{suffix}"
    async with syncing.with_topics():
        syncing.sync((0, 100, 60))
        syncing.commit(active, {0: 100})
        syncing.commit(other, {0: 100})
    with _member(syncing, active, protocol), capture_logs() as events:
        async with syncing.running():
            await eventually_async(
                lambda: asyncio.to_thread(syncing.target_offsets, other),
                until=lambda offsets: offsets == {0: 60},
            )
            # The round in which that was written may still be under way.
            await eventually_async(partial(_is_reported, events, active))
    assert syncing.target_offsets(active) == {}
    # Nothing was attempted that the broker had to refuse.
    assert {event["event"] for event in events if event.get("group") == active} == {
        "group_offsets.active",
        "checkpoint.chosen",
    }


async def _is_reported(events: Sequence[Mapping[str, object]], group: str) -> bool:
    return any(
        event["event"] == "group_offsets.active" and event["group"] == group for event in events
    )


@contextmanager
def _member(pair: Pair, group: str, protocol: str) -> Iterator[None]:
    """A live member of a group of the target, which has joined."""
    settings = {"bootstrap.servers": pair.target, "group.id": group, "group.protocol": protocol}
    member = Consumer({**settings, "enable.auto.commit": False})
    try:
        member.subscribe([pair.remote])
        eventually(lambda: (member.poll(0.1), member.assignment())[1])
        yield
    finally:
        member.close()
