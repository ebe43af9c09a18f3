"""Ways to topics of the target that a transform names."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import cast

import pytest

from flows.source.fetch.fetch_state import FetchState
from flows.source.forward.record_body import DecodedRecord, keyed_body
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.send_queue import PartitionSender
from flows.source.transform.message_handler import WrongRecords
from flows.source.transform.target_routes import Routes
from mm2.core.internal_records import Heartbeat
from mm2.core.model import ClusterAlias, TopicName, TopicPartition
from mm2.core.policy import HEARTBEATS_TOPIC
from mm2.core.topics.own_topics import OwnTopics
from mm2.core.topics.topic_plan import CreateTopic
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import Refused
from mm2.kafka.wire.wire_client import WireClient
from tests.support.transform_chains import record
from tests.support.virtual_time import run

LIKE = TopicName("t")
NEW = TopicPartition(TopicName("new"), 0)


class _Target:
    """A cluster whose brokers may not know what others have created."""

    alias = "B"

    def __init__(self) -> None:
        self.tracked: frozenset[str] = frozenset()
        self.there = {"A.t": 3}
        self.is_stale = False
        self.creations = 0
        self.failure: ClusterError | None = None
        self.known: dict[str, int] = {}

    async def track(self, topics: Iterable[str]) -> None:
        self.tracked = frozenset(topics)
        await asyncio.sleep(0.01)
        self.known = {} if self.is_stale else dict(self.there)
        self.known = {name: count for name, count in self.known.items() if name in self.tracked}

    def partitions_of(self, name: str) -> int:
        return 3 if name == LIKE else self.known.get(name, 0)

    async def create_topics(
        self, wanted: Sequence[CreateTopic]
    ) -> dict[TopicName, ClusterError | None]:
        self.creations += 1
        await asyncio.sleep(0.3)
        if self.failure is None:
            self.there |= {each.name: each.partitions for each in wanted}
        return {each.name: self.failure for each in wanted}


def _routes(target: _Target) -> Routes:
    client = cast("WireClient", target)
    admin = cast("Admin", target)
    return Routes(
        source=client,
        target=client,
        admin=admin,
        replication_factor=1,
        own_topics=OwnTopics(names=frozenset({"connect-configs"})),
    )


def test_topics_that_are_tracked_meanwhile_leave_the_one_that_is_created() -> None:
    async def script() -> None:
        target = _Target()
        routes = _routes(target)
        finding = asyncio.create_task(routes.sender(NEW, LIKE))
        await asyncio.sleep(0.1)
        await target.track({"A.t", *routes.topics})
        assert (await finding).target == NEW
        assert target.known["new"] == 3

    run(script())


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_topic_that_brokers_do_not_know_any_more_is_no_fault_of_the_record(
    is_deleted: bool,
) -> None:
    async def script() -> None:
        target = _Target()
        routes = _routes(target)
        await routes.sender(NEW, LIKE)
        target.is_stale = not is_deleted
        if is_deleted:
            del target.there["new"]
        await target.track(target.tracked)
        if is_deleted:
            assert (await routes.sender(NEW, LIKE)).target == NEW
            assert target.creations == 2
            return
        with pytest.raises(Unavailable, match="partitions of new are not known yet"):
            await routes.sender(NEW, LIKE)
        target.is_stale = False
        assert (await routes.sender(NEW, LIKE)).target == NEW

    run(script())


@pytest.mark.parametrize("name", ["a b", "", "..", "x" * 250, "A.t.\udcff", None])
def test_a_name_that_no_topic_can_have_is_the_records_error(name: str) -> None:
    """And is not asked for: the client could not even write some of them."""

    async def script() -> frozenset[str]:
        target = _Target()
        with pytest.raises(WrongRecords, match="no topic can have the name"):
            await _routes(target).sender(TopicPartition(TopicName(name), 0), LIKE)
        return target.tracked

    assert run(script()) == frozenset()


@pytest.mark.parametrize(
    "name",
    [
        "mm2-control.A.internal",
        "mm2-offsets.A.internal",
        "mm2-offset-syncs.B.internal",
        "mm2-offset-syncs_B_internal",
        "A.checkpoints.internal",
        "A_checkpoints_internal",
        "connect-configs",
        "__consumer_offsets",
        "__transaction_state",
        "heartbeats",
    ],
)
@pytest.mark.parametrize("of_many", [True, False])
def test_a_topic_that_tells_mm2_or_kafka_what_to_do_is_the_records_error(
    name: str, *, of_many: bool
) -> None:
    async def script() -> None:
        target = _Target()
        target.there[name] = 1
        where = TopicPartition(TopicName(name), 0)
        with pytest.raises(WrongRecords, match="transforms may send"):
            await _routes(target).sender(where, LIKE, None if of_many else record())
        assert target.tracked == frozenset()

    run(script())


def test_heartbeats_may_go_where_heartbeats_are() -> None:
    async def script() -> None:
        target = _Target()
        target.there["heartbeats"] = 1
        where = TopicPartition(HEARTBEATS_TOPIC, 0)
        beat = Heartbeat(ClusterAlias("C"), ClusterAlias("A"), 5)
        alone = record(topic="heartbeats", partition=0, key=beat.key(), value=beat.value())
        assert (await _routes(target).sender(where, LIKE, alone)).target == where

    run(script())


def test_a_record_that_a_transform_sends_to_the_control_topic_is_not_copied() -> None:
    async def script() -> None:
        target = _Target()
        target.there["mm2-control.A.internal"] = 1
        routes = _routes(target)
        partition = MirroredPartition(
            TopicPartition(LIKE, 0),
            PartitionSender(TopicPartition(TopicName("A.t"), 0)),
            fetch=FetchState(position=0),
            transform=lambda each: [each.replace(topic="mm2-control.A.internal")],
        )
        body = keyed_body(b"k", b"v", [])
        with pytest.raises(WrongRecords, match=r"mm2-control\.A\.internal is internal"):
            await routes.copies(partition, DecodedRecord(0, 1, body))
        assert routes.senders == {}

    run(script())


def test_a_topic_that_the_target_refuses_is_not_tracked() -> None:
    async def script() -> None:
        target = _Target()
        routes = _routes(target)
        for code, error in (
            ("INVALID_TOPIC_EXCEPTION", WrongRecords),
            ("POLICY_VIOLATION", ClusterError),
        ):
            target.failure = Refused("B", "no", code)
            with pytest.raises(error):
                await routes.sender(NEW, LIKE)
            assert routes.topics == set()

    run(script())
