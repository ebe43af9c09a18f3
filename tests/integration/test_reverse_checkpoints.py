"""
Groups that moved to the copies and return: with the driver as a user runs it, and beside Java's
syncs.
"""

from __future__ import annotations

import asyncio
import itertools
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType

from flows.checkpoint.checkpoint_flow import run_checkpoints
from flows.source.forward.record_batch import Batch
from mm2.config.flow_config import flow_config
from mm2.config.mirror_maker_config import load_maker
from mm2.core.internal_records import Checkpoint
from mm2.core.model import ClusterAlias, GroupId, SourceAndTarget, TopicName
from mm2.core.model import TopicPartition as OurPartition
from mm2.core.policy import build_policy
from mm2.herder.topics.internal_topics import create_internal_topics
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import admin_clients
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually, eventually_async
from tests.support.in_time import in_time
from tests.support.mirror import Mirror, properties
from tests.support.raw import log_of
from tests.support.records import (
    Sample,
    commit_group,
    committed,
    create_topic,
    everything,
    group_member,
    produce,
    produce_transaction,
)

pytestmark = pytest.mark.broker

COMMITTED: Mapping[str, str | int] = {"isolation.level": "read_committed"}


@dataclass(frozen=True, slots=True)
class Route:
    """
    A flow between the two clusters, with aliases of its own, and a topic that it mirrors.

    Attributes:
        here: bootstrap servers of the flow's source, where groups return to.
        there: of its target.
        source: alias of the flow's source.
        target: alias of its target.
        topic: the original.
        remote: the copy.
    """

    here: str
    there: str
    source: str
    target: str
    topic: str
    remote: str

    def led_back(self) -> dict[str, Checkpoint]:
        """The last checkpoint of each group that moved, as the flow's source has them."""
        try:
            records = everything(self.here, f"{self.target}.checkpoints.internal")
        except (AssertionError, KafkaException) as error:
            raise AssertionError("no checkpoints yet") from error
        found = [Checkpoint.decode(each.key, each.value, each.headers) for each in records]
        return {each.group: each for each in found}

    def move(self, group: str, records: Sequence[Sample]) -> None:
        """Reads records of the copy, as members of the group do, and commits."""
        with group_member(self.there, group, [self.remote], COMMITTED) as member:
            for record in records:
                message = member.poll(PATIENCE_S)
                assert message is not None
                assert message.value() == record.value
            in_time(lambda: member.commit(asynchronous=False))

    def first_read(self, group: str, offset: int) -> bytes | None:
        """What a member of the group reads first when it goes on at an offset of the original."""
        where = TopicPartition(self.topic, 0, offset)
        settings = {"bootstrap.servers": self.here, "group.id": group, **COMMITTED}
        consumer = Consumer(settings)
        try:
            consumer.assign([where])
            message = consumer.poll(PATIENCE_S)
            return None if message is None else message.value()
        finally:
            consumer.close()

    async def offsets_here(self, group: str) -> dict[str, int]:
        """
        What a group has committed on the flow's source.

        Not asked through librdkafka, which crashes if a coordinator that has just started refuses.
        """
        admin = Admin(self.source, {"bootstrap.servers": self.here})
        try:
            found = await admin.list_group_offsets(group)
        finally:
            await admin.close()
        return {where.topic: commit.offset for where, commit in found.items()}


def _route(cluster_a: Cluster, cluster_b: Cluster, suffix: str, *, renamed: bool = True) -> Route:
    source, topic = f"s{suffix}", f"orders-{suffix}"
    return Route(
        here=cluster_a.bootstrap,
        there=cluster_b.bootstrap,
        source=source,
        target=f"t{suffix}",
        topic=topic,
        remote=f"{source}.{topic}" if renamed else topic,
    )


def _log_with_gaps(route: Route) -> list[Sample]:
    """Writes records of which some are compacted away and some aborted; returns the others."""
    numbers = itertools.count()

    def records(count: int) -> list[Sample]:
        values = (str(next(numbers)).encode() for _ in range(count))
        return [Sample(key=b"%d" % (int(value) % 19), value=value) for value in values]

    often = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.001"}
    cleaning = {"cleanup.policy": "compact", "max.compaction.lag.ms": "100", **often}
    create_topic(route.here, route.topic, 1, cleaning)
    produce(route.here, route.topic, records(40))

    def written_and_cleaned() -> list[Batch]:
        produce(route.here, route.topic, records(1))
        return log_of(route.here, route.topic)

    eventually(
        written_and_cleaned,
        until=lambda batches: any(b.last_offset - b.base_offset >= b.count for b in batches),
    )
    _stop_cleaning(route)
    produce_transaction(route.here, route.topic, records(20))
    produce_transaction(route.here, route.topic, records(10), commit=False)
    produce_transaction(route.here, route.topic, records(20))
    produce(route.here, route.topic, records(20))
    return committed(route.here, route.topic)


def _stop_cleaning(route: Route) -> None:
    """Lets the log be what it is."""
    entry = ConfigEntry("cleanup.policy", "delete", incremental_operation=AlterConfigOpType.SET)
    topic = ConfigResource(ResourceType.TOPIC, route.topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": route.here})
    admin.incremental_alter_configs([topic])[topic].result(60)
    seen: list[list[int]] = []

    def is_settled() -> bool:
        seen.append([batch.count for batch in log_of(route.here, route.topic)])
        return seen[-1:] == seen[-2:-1]

    eventually(is_settled)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("renamed", "settings"),
    [
        (True, {"sync.group.offsets.enabled": "true"}),
        (
            False,
            {
                "replication.policy.class": "IdentityReplicationPolicy",
                "offset-syncs.topic.location": "target",
            },
        ),
    ],
    ids=["default policy", "identity policy, exactly once, syncs on the target"],
)
def test_a_group_that_read_copies_finds_its_first_unread_record_among_the_originals(
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    tmp_path: Path,
    *,
    renamed: bool,
    settings: Mapping[str, str],
) -> None:
    """The usual active and passive: the flow back is not enabled."""
    suffix = unique[-8:]
    route = _route(cluster_a, cluster_b, suffix, renamed=renamed)
    originals = _log_with_gaps(route)
    carried = f"carried-{suffix}"
    commit_group(route.here, carried, {(route.topic, 0): originals[30].offset})
    text = properties(
        {route.source: route.here, route.target: route.there},
        {
            f"{route.source}->{route.target}.enabled": "true",
            "topics": route.topic,
            "groups": f".*-{suffix}",
            "heartbeats.replication.enabled": "false",
            "sync.group.offsets.interval.seconds": "1",
            f"{route.source}.consumer.isolation.level": "read_committed",
            # Of the second case alone; the worker of a target says how it is written to.
            f"{route.target}.exactly.once.source.support": "disabled" if renamed else "enabled",
            **settings,
        },
    )
    with Mirror(tmp_path, text):
        eventually(
            lambda: committed(route.there, route.remote),
            until=lambda found: len(found) == len(originals),
            timeout=60,
        )
        read = {f"g{each}-{suffix}": each for each in (1, 7, 20, 33, 40, 60)}
        for group, number in read.items():
            route.move(group, originals[:number])
        # Runs may come later than syncs; exact answers replace the others then.
        led_back = eventually(
            route.led_back,
            until=lambda found: all(group in found and found[group].exact for group in read),
            timeout=60,
        )
        assert carried not in led_back
        for group, number in read.items():
            checkpoint = led_back[group]
            assert checkpoint.partition == OurPartition(TopicName(route.topic), 0)
            assert route.first_read(group, checkpoint.downstream_offset) == originals[number].value
        _beyond_the_copies(route, f"all-{suffix}", originals, foreign=not renamed)


def _beyond_the_copies(
    route: Route, group: str, originals: Sequence[Sample], *, foreign: bool
) -> None:
    """A group that has read all, and what somebody wrote on the other side, misses nothing."""
    local = [Sample(value=b"local")] * 3 if foreign else []
    produce(route.there, route.remote, local)
    route.move(group, [*originals, *local])
    led_back = eventually(route.led_back, until=lambda found: group in found)
    produce(route.here, route.topic, [Sample(value=b"next")])
    assert route.first_read(group, led_back[group].downstream_offset) == b"next"


class BidirectionalTranslator:
    """
    Two flows that are enabled, of which only the checkpoint flow back is run here.

    Java's MirrorMaker, or whoever, does the copying: offset syncs and checkpoints of the flow there
    are written by hand.
    """

    def __init__(self, route: Route, folder: Path) -> None:
        settings = {
            f"{route.source}->{route.target}.enabled": "true",
            f"{route.target}->{route.source}.enabled": "true",
            "topics": route.topic,
            "groups": f".*-{route.topic[-8:]}",
            "sync.group.offsets.enabled": "true",
            "sync.group.offsets.interval.seconds": "1",
        }
        file = folder / "mm2.properties"
        clusters = {route.source: route.here, route.target: route.there}
        file.write_text(properties(clusters, settings))
        source, target = ClusterAlias(route.source), ClusterAlias(route.target)
        maker = load_maker(file)
        self._there = flow_config(maker, SourceAndTarget(source, target))
        self._back = flow_config(maker, SourceAndTarget(target, source))
        self._route = route

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs the checkpoint flow back."""
        async with admin_clients(self._back) as clusters:
            flow = asyncio.create_task(run_checkpoints(self._back, clusters), name="checkpoints")
            try:
                yield
                assert not flow.done()
            finally:
                flow.cancel()
                with suppress(asyncio.CancelledError):
                    await flow

    async def prepare(self) -> None:
        """Creates the topics of both flows."""
        create_topic(self._route.here, self._route.topic)
        produce(self._route.here, self._route.topic, [Sample(value=b"x")] * 250)
        create_topic(self._route.there, self._route.remote)
        for config in (self._there, self._back):
            async with admin_clients(config) as clusters:
                policy = build_policy(config.source.properties)
                for on_source in (False, True):
                    await create_internal_topics(config, policy, clusters, on_source=on_source)

    def sync(self, *syncs: tuple[int, int]) -> None:
        """Writes offset syncs of the flow there: upstream, downstream."""
        name = self._route.topic.encode()
        key = len(name).to_bytes(2, "big") + name + bytes(4)
        topic = f"mm2-offset-syncs.{self._route.target}.internal"
        samples = [Sample(key=key, value=struct.pack(">qq", *each)) for each in syncs]
        produce(self._route.here, topic, samples)

    def carry(self, group: str, upstream: int, downstream: int) -> None:
        """Writes a checkpoint of the flow there, and gives the group its offset."""
        copy = OurPartition(TopicName(self._route.remote), 0)
        checkpoint = Checkpoint(GroupId(group), copy, upstream, downstream)
        topic = f"{self._route.source}.checkpoints.internal"
        sample = Sample(key=checkpoint.key(), value=checkpoint.value())
        produce(self._route.there, topic, [sample])
        commit_group(self._route.there, group, {(self._route.remote, 0): downstream})


async def test_groups_that_moved_get_their_offsets_back_and_others_keep_theirs(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """Where only Java's syncs are known: at or before the place, never behind it."""
    suffix = unique[-8:]
    moved, reset, ahead = (f"{name}-{suffix}" for name in ("moved", "reset", "ahead"))
    route = _route(cluster_a, cluster_b, suffix)
    flows = BidirectionalTranslator(route, tmp_path)
    await flows.prepare()
    flows.sync((100, 50), (200, 140))
    for group in (moved, reset, ahead):
        commit_group(route.here, group, {(route.topic, 0): 100})
        flows.carry(group, 100, 50)
    # Somebody sets one group back; its checkpoint follows, its offset on the other side does not.
    commit_group(route.here, reset, {(route.topic, 0): 10})
    for group, read_to in ((moved, 170), (ahead, 90)):
        commit_group(route.there, group, {(route.remote, 0): read_to})
    async with flows.running():
        for group, place in ((moved, 201), (ahead, 101)):
            await eventually_async(
                lambda group=group: route.offsets_here(group),  # type: ignore[misc]
                until=lambda offsets, place=place: offsets == {route.topic: place},  # type: ignore[misc]
            )
        await eventually_async(
            lambda: asyncio.to_thread(route.led_back),
            until=lambda found: found.keys() == {moved, ahead},
        )
        assert await route.offsets_here(reset) == {route.topic: 10}


async def test_a_group_that_returned_is_not_brought_forward_when_it_is_set_back(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    suffix = unique[-8:]
    returned, later = f"returned-{suffix}", f"later-{suffix}"
    route = _route(cluster_a, cluster_b, suffix)
    flows = BidirectionalTranslator(route, tmp_path)
    await flows.prepare()
    flows.sync((100, 50), (200, 140))
    commit_group(route.there, returned, {(route.remote, 0): 140})
    async with flows.running():
        await eventually_async(
            lambda: route.offsets_here(returned),
            until=lambda offsets: offsets == {route.topic: 200},
        )
    # It reads on where it came from, and is then set back there.
    flows.carry(returned, 230, 170)
    commit_group(route.here, returned, {(route.topic, 0): 5})
    commit_group(route.there, later, {(route.remote, 0): 150})
    async with flows.running():
        await eventually_async(
            lambda: route.offsets_here(later),
            until=lambda offsets: offsets == {route.topic: 201},
        )
        assert await route.offsets_here(returned) == {route.topic: 5}
