"""
A group's member whose client has no broker, though the cluster answers others, is replaced.

The client is kept from brokers by a link that breaks off each connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import pytest
from structlog.testing import capture_logs

from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.demo.broker_settings import HOST, free_ports
from mm2.kafka.admin import Admin
from mm2.kafka.groups.client_watch import ClientWatch
from mm2.kafka.groups.consumer import GroupConsumer
from tests.harness.chaos.proxy import Link, Links
from tests.support.cluster import KafkaCluster
from tests.support.eventually import eventually
from tests.support.records import create_topic

pytestmark = pytest.mark.broker

_SESSION_S = 6
_PATIENCE_S = 8
_OWN = "LINKED"
_SHORT_SESSIONS = {
    f"group.consumer.{key}": str(_SESSION_S * 1000)
    for key in ("session.timeout.ms", "min.session.timeout.ms")
} | {f"group.consumer.{key}heartbeat.interval.ms": "1000" for key in ("", "min.")}
_KIP_848 = {"group.protocol": "consumer"}
_STATIC = {"group.instance.id": "one"}


class _Owner:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, set[TopicPartition]]] = []

    async def assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self.told.append(("assigned", set(partitions)))

    async def revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self.told.append(("revoked", set(partitions)))

    async def lost(self, partitions: Sequence[TopicPartition]) -> None:
        self.told.append(("lost", set(partitions)))


@pytest.fixture(scope="module")
def port() -> int:
    """Where brokers tell the client to come: the link's."""
    return free_ports(1)[0]


@pytest.fixture(scope="module")
def cluster(port: int) -> Iterator[KafkaCluster]:
    routes = {_OWN: port}
    with KafkaCluster("A", routes=routes, properties=_SHORT_SESSIONS, heap="320m") as started:
        yield started


@pytest.fixture
def link(cluster: KafkaCluster, port: int) -> Iterator[Link]:
    with Links() as links:
        yield links.open(port, int(cluster.listeners(_OWN).rpartition(":")[2]))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {**_STATIC, "partition.assignment.strategy": "cooperative-sticky"},
        _KIP_848,
        {**_KIP_848, **_STATIC},
    ],
    ids=["classic", "classic, cooperative and static", "KIP-848", "KIP-848 and static"],
)
async def test_a_new_client_takes_the_place_of_the_one_that_has_no_broker(
    cluster: KafkaCluster, link: Link, port: int, unique: str, settings: dict[str, str]
) -> None:
    create_topic(cluster.bootstrap, unique, partitions=3)
    every = {TopicPartition(TopicName(unique), number) for number in range(3)}
    first = TopicPartition(TopicName(unique), 0)
    session = {} if "group.protocol" in settings else {"session.timeout.ms": f"{_SESSION_S}000"}
    properties = {"bootstrap.servers": f"{HOST}:{port}", **session, **settings}
    owner, admin = _Owner(), Admin("A", {"bootstrap.servers": cluster.bootstrap})
    watch = ClientWatch(admin, patience_s=_PATIENCE_S, every_s=1)
    member = GroupConsumer("A", properties, group=GroupId(unique), owner=owner, watch=watch)
    running = asyncio.create_task(member.run(), name="member")

    async def until_told(*expected: str) -> None:
        wanted = [(what, every) for what in expected]
        await asyncio.to_thread(eventually, lambda: owner.told, until=lambda seen: seen == wanted)

    with capture_logs() as logs:
        await member.subscribe({unique})
        await until_told("assigned")
        assert await member.commit({first: 5}) == {first}
        link.refuse()
        replaced = "stream.member_replaced"
        await asyncio.to_thread(eventually, lambda: replaced in [each["event"] for each in logs])
        await until_told("assigned", "lost")
        link.heal()
        await until_told("assigned", "lost", "assigned")
        assert await member.committed([first]) == {first: 5}
        assert await member.commit({first: 6}) == {first}
    assert not running.done()
    running.cancel()
    await member.close()
    await admin.close()
