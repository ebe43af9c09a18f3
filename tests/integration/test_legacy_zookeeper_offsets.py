"""``kafka-mirror-maker`` with offsets in ZooKeeper, and the way from there to Kafka."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupState
from confluent_kafka.admin import AdminClient

from flows.legacy.zookeeper_offsets import ZooKeeperOffsets
from mm2.config.legacy.zookeeper_keys import ZooKeeperSettings, zookeeper_settings
from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.errors import ClusterError, Unavailable
from tests.support.certificates import PASSWORD, Certified
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.legacy_tool import (
    all_copies,
    committed_offsets,
    copies_when,
    events_of,
    legacy_tool,
    stream_shares,
)
from tests.support.mirror import Mirror
from tests.support.process import freeze
from tests.support.records import create_topic, numbered, produce
from tests.support.zookeeper import (
    client_of,
    free_port,
    kept_offsets,
    running_at,
    secured_zookeeper,
    tls_stores,
    watched_zookeeper,
    zookeeper,
)

_NOTHING = -1001
AT = TopicPartition(TopicName("t"), 3)


@pytest.fixture(scope="module")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with zookeeper(tmp_path_factory.mktemp("zookeeper")) as address:
        yield address


@pytest.fixture
def clusters(cluster_a: Cluster, cluster_b: Cluster) -> tuple[Cluster, Cluster]:
    return cluster_a, cluster_b


def settings_of(connect: str) -> ZooKeeperSettings:
    return ZooKeeperSettings(
        connect=connect, session_timeout_s=6, connect_timeout_s=6, is_alone=True
    )


@pytest.mark.broker
async def test_offsets_are_where_older_consumers_have_them(keeper: str, unique: str) -> None:
    with client_of(keeper) as client:
        client.create(f"/consumers/{unique}/offsets/t/3", b"41", makepath=True)
        client.create(f"/consumers/{unique}/offsets/t/4", b"none")
        store = ZooKeeperOffsets(settings_of(keeper), GroupId(unique))
        await store.start()
        other = TopicPartition(AT.topic, 5)
        assert await store.committed([AT, other]) == {AT: 41}
        assert await store.commit({AT: 50, other: 7}) == {AT, other}
        assert client.get(f"/consumers/{unique}/offsets/t/3")[0] == b"50"
        assert await store.committed([AT, other]) == {AT: 50, other: 7}
        with pytest.raises(ClusterError, match="t/4 holds no offset"):
            await store.committed([TopicPartition(AT.topic, 4)])
        await store.close()


@pytest.mark.broker
async def test_zookeeper_is_asked_by_tls_with_the_keys_of_kafkas_brokers(tmp_path: Path) -> None:
    stranger = Certified.authority("another")
    stores, keys = tls_stores(tmp_path)
    text = {"offsets.storage": "zookeeper", **keys}
    other = {"zookeeper.ssl.truststore.location": str(stranger.truststore(tmp_path / "other.p12"))}
    with secured_zookeeper(tmp_path, stores) as address:
        settings = zookeeper_settings({**text, "zookeeper.connect": address})
        assert settings is not None
        assert PASSWORD not in repr(settings)
        store = ZooKeeperOffsets(settings, GroupId("g"))
        await store.start()
        assert await store.commit({AT: 7}) == {AT}
        assert await store.committed([AT]) == {AT: 7}
        await store.close()
        settings = zookeeper_settings({**text, **other, "zookeeper.connect": address})
        assert settings is not None
        store = ZooKeeperOffsets(settings, GroupId("g"))
        await store.start()
        with pytest.raises(Unavailable, match="certificate verify failed"):
            await store.committed([AT])
        await store.close()


async def test_a_server_that_is_not_there_is_named() -> None:
    settings = ZooKeeperSettings(
        connect="127.0.0.1:1", session_timeout_s=1, connect_timeout_s=0.2, is_alone=True
    )
    store = ZooKeeperOffsets(settings, GroupId("g"))
    await store.start()
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1"):
        await store.committed([AT])
    await store.close()


@pytest.mark.broker
@pytest.mark.spark
@pytest.mark.parametrize(
    "processes", [1, pytest.param(3, marks=pytest.mark.thorough)], ids=["one", "three"]
)
def test_processes_move_one_by_one_and_nothing_is_lost_or_read_again(
    keeper: str,
    clusters: tuple[Cluster, Cluster],
    unique: str,
    tmp_path: Path,
    processes: int,
) -> None:
    (cluster_a, cluster_b), topic, group = clusters, f"{unique}-t", f"{unique}-g"
    create_topic(cluster_a.bootstrap, topic, partitions=6)
    steps: list[dict[str, str]] = [
        {"offsets.storage": "zookeeper", "zookeeper.connect": keeper},
        {
            "offsets.storage": "kafka",
            "dual.commit.enabled": "true",
            "zookeeper.connect": keeper,
        },
        {"offsets.storage": "kafka"},
    ]
    written = 0

    def write() -> None:
        nonlocal written
        produce(cluster_a.bootstrap, topic, numbered(written, 60, 6))
        written += 60
        copies_when(cluster_b, topic, written)

    with ExitStack() as stack:
        running: list[Mirror] = []

        def start(number: int, step: int) -> Mirror:
            folder = tmp_path / f"{number}-{step}"
            folder.mkdir()
            tool = legacy_tool(
                folder, cluster_a, cluster_b, group, "--include", topic, consumer=steps[step]
            )
            return stack.enter_context(tool)

        running = [start(number, 0) for number in range(processes)]
        eventually(
            lambda: [stream_shares(each) for each in running] == [{0: 6 // processes}] * processes
        )
        write()
        eventually(lambda: None not in kept_offsets(keeper, group, topic, 6))
        assert committed_offsets(cluster_a, group, topic, 6) == [_NOTHING] * 6
        for step in (1, 2):
            for number in range(processes):
                assert running[number].stop() == 0
                running[number] = start(number, step)
                eventually(
                    lambda: (
                        [stream_shares(each) for each in running]
                        == [{0: 6 // processes}] * processes
                    )
                )
                write()
        for each in running:
            assert each.stop() == 0
    copied = [int(each.value or b"") for each in all_copies(cluster_b, topic, 6)]
    assert sorted(copied) == list(range(written))
    assert committed_offsets(cluster_a, group, topic, 6) == [written // 6] * 6


@pytest.mark.broker
@pytest.mark.spark
def test_a_group_goes_on_committing_and_rebalances_while_zookeeper_is_away(
    clusters: tuple[Cluster, Cluster], unique: str, tmp_path: Path
) -> None:
    (cluster_a, cluster_b), topic, group = clusters, f"{unique}-t", f"{unique}-g"
    create_topic(cluster_a.bootstrap, topic, partitions=2)
    admin = AdminClient({"bootstrap.servers": cluster_a.bootstrap, "log_level": 0})
    written = 0

    def write() -> None:
        nonlocal written
        produce(cluster_a.bootstrap, topic, numbered(written, 20, 2))
        written += 20
        copies_when(cluster_b, topic, written)

    def committed() -> bool:
        return committed_offsets(cluster_a, group, topic, 2) == [written // 2] * 2

    def members() -> tuple[ConsumerGroupState, int]:
        found = admin.describe_consumer_groups([group])[group].result(30)
        return found.state, len(found.members)

    with watched_zookeeper(tmp_path) as (address, keeper), ExitStack() as stack:
        consumer = {"dual.commit.enabled": "true", "zookeeper.connect": address}
        words = ("--include", topic, "--offset.commit.interval.ms", "500")
        tools: list[Mirror] = []
        for number in range(2):
            folder = tmp_path / str(number)
            folder.mkdir()
            tool = legacy_tool(folder, cluster_a, cluster_b, group, *words, consumer=consumer)
            tools.append(stack.enter_context(tool))
        eventually(lambda: [stream_shares(each) for each in tools] == [{0: 1}] * 2)
        write()
        eventually(committed)
        eventually(lambda: kept_offsets(address, group, topic, 2) == [10, 10])
        freeze(keeper.pid)
        for _ in range(3):
            write()
            eventually(committed)
        assert tools[1].stop() == 0
        eventually(members, until=lambda seen: seen == (ConsumerGroupState.STABLE, 1))
        eventually(lambda: stream_shares(tools[0]) == {0: 2})
        write()
        eventually(committed)
        assert "stream.offsets_of_kafka_alone" in tools[0].text()
        keeper.signal(signal.SIGCONT)
        write()
        eventually(lambda: kept_offsets(address, group, topic, 2) == [written // 2] * 2)
        assert tools[0].stop() == 0
    assert len(all_copies(cluster_b, topic, 2)) == written


@pytest.mark.broker
@pytest.mark.spark
def test_a_stream_that_waits_for_zookeeper_holds_up_no_rebalance_and_goes_on_with_it(
    clusters: tuple[Cluster, Cluster], unique: str, tmp_path: Path
) -> None:
    """Other members come and go, as consumers do, while the stream knows of no offsets."""
    (cluster_a, cluster_b), topic, group = clusters, f"{unique}-t", f"{unique}-g"
    create_topic(cluster_a.bootstrap, topic, partitions=3)
    admin = AdminClient({"bootstrap.servers": cluster_a.bootstrap, "log_level": 0})
    joins = {"bootstrap.servers": cluster_a.bootstrap, "group.id": group, "log_level": 0}

    with watched_zookeeper(tmp_path) as (address, keeper), ExitStack() as stack:
        consumer = {"offsets.storage": "zookeeper", "zookeeper.connect": address}
        words = ("--include", topic, "--offset.commit.interval.ms", "500")
        tool = legacy_tool(tmp_path, cluster_a, cluster_b, group, *words, consumer=consumer)
        running = stack.enter_context(tool)
        eventually(lambda: stream_shares(running) == {0: 3})
        produce(cluster_a.bootstrap, topic, numbered(0, 30, 3))
        copies_when(cluster_b, topic, 30)
        eventually(lambda: kept_offsets(address, group, topic, 3) == [10] * 3)
        freeze(keeper.pid)
        others: list[Consumer] = []

        def state() -> tuple[ConsumerGroupState, int]:
            for each in others:
                each.poll(0.1)
            found = admin.describe_consumer_groups([group])[group].result(30)
            return found.state, len(found.members)

        def joined(members: int) -> None:
            other = Consumer(joins)
            stack.callback(other.close)
            other.subscribe([topic])
            others.append(other)
            eventually(state, until=lambda seen: seen == (ConsumerGroupState.STABLE, members))
            eventually(lambda: "stream.offsets_awaited" in running.text())

        joined(2)
        joined(3)
        for each in others:
            each.close()
        produce(cluster_a.bootstrap, topic, numbered(30, 30, 3))
        eventually(lambda: stream_shares(running) == {0: 3})
        keeper.signal(signal.SIGCONT)
        copies_when(cluster_b, topic, 60)
        eventually(lambda: kept_offsets(address, group, topic, 3) == [20] * 3)
        assert running.stop() == 0
    copied = [int(each.value or b"") for each in all_copies(cluster_b, topic, 3)]
    assert sorted(copied) == list(range(60))


@pytest.mark.broker
@pytest.mark.spark
@pytest.mark.parametrize(
    "storage",
    [
        "offsets.storage=zookeeper",
        pytest.param("dual.commit.enabled=true", marks=pytest.mark.thorough),
    ],
)
def test_a_stream_waits_for_a_zookeeper_that_is_away_at_its_start(
    clusters: tuple[Cluster, Cluster], unique: str, tmp_path: Path, storage: str
) -> None:
    """It names the address, obeys SIGTERM meanwhile, and goes on at the offsets that are there."""
    (cluster_a, cluster_b), topic, group = clusters, f"{unique}-t", f"{unique}-g"
    create_topic(cluster_a.bootstrap, topic, partitions=1)
    produce(cluster_a.bootstrap, topic, numbered(0, 20, 1))
    port = free_port()
    address, (key, _, value) = f"127.0.0.1:{port}", storage.partition("=")
    consumer = {key: value, "zookeeper.connect": address, "zookeeper.connection.timeout.ms": "500"}
    with running_at(port, tmp_path), client_of(address) as client:
        path = f"/consumers/{group}/offsets/{topic}/0"
        client.create(path, b"5", makepath=True)
    with ExitStack() as stack:

        def start(name: str) -> Mirror:
            folder = tmp_path / name
            folder.mkdir()
            words = ("--include", topic, "--offset.commit.interval.ms", "500")
            tool = legacy_tool(folder, cluster_a, cluster_b, group, *words, consumer=consumer)
            return stack.enter_context(tool)

        def says(tool: Mirror, event: str) -> bool:
            return any(
                each["event"] == event and address in each["error"] for each in events_of(tool)
            )

        stopped = start("stopped")
        eventually(lambda: says(stopped, "stream.zookeeper_awaited"))
        assert stopped.stop() == 0
        waiting = start("waiting")
        eventually(lambda: says(waiting, "stream.zookeeper_awaited"))
        eventually(lambda: stream_shares(waiting) == {0: 1})
        stack.enter_context(running_at(port, tmp_path))
        copies_when(cluster_b, topic, 15)
        eventually(lambda: kept_offsets(address, group, topic, 1) == [20])
        assert waiting.stop() == 0
    copied = [int(each.value or b"") for each in all_copies(cluster_b, topic, 1)]
    assert copied == list(range(5, 20))
