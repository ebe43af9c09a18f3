"""The topic that holds a group's connectors: which will do, and who of two writers is right."""

from __future__ import annotations

import asyncio

import pytest

from mm2.connect.connector_store import TopicStore
from mm2.connect.worker_config import WorkerConfig
from mm2.core.connect.config_records import ConnectorConfig, ConnectorTarget, Restart, TargetState
from mm2.errors import FatalError
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually_async
from tests.support.records import create_topic

pytestmark = pytest.mark.broker


def _worker(cluster: Cluster, unique: str) -> WorkerConfig:
    return WorkerConfig(
        raw={
            "bootstrap.servers": cluster.bootstrap,
            "group.id": unique,
            "config.storage.topic": f"{unique}-configs",
            "config.storage.replication.factor": "1",
            "offset.storage.topic": f"{unique}-offsets",
            "status.storage.topic": f"{unique}-states",
        },
        is_distributed=True,
    )


@pytest.mark.parametrize(
    ("partitions", "policy", "reason"),
    [(1, "delete", "cleanup.policy = delete"), (3, "compact", "3 partitions")],
)
def test_a_topic_that_could_lose_connectors_is_refused(
    cluster_b: Cluster, unique: str, partitions: int, policy: str, reason: str
) -> None:
    name = f"{unique}-configs"
    create_topic(cluster_b.bootstrap, name, partitions, {"cleanup.policy": policy})
    store = TopicStore(_worker(cluster_b, unique))
    with pytest.raises(FatalError, match=f"config.storage.topic = {name}: .*{reason}"):
        asyncio.run(asyncio.wait_for(store.run(), PATIENCE_S))


def test_of_two_workers_that_change_a_connector_at_once_the_first_is_right(
    cluster_b: Cluster, unique: str
) -> None:
    """Both used to be told that it was done, and the first one's change was lost."""
    worker = _worker(cluster_b, unique)

    async def race(stores: list[TopicStore]) -> None:
        before = None
        for number in range(5):
            configs = [{"name": "m", "by": f"{number}-{place}"} for place in (0, 1)]
            state = ConnectorTarget("m", TargetState.PAUSED)
            done = await asyncio.gather(
                *(
                    store.replace(before, ConnectorConfig("m", config), state)
                    for store, config in zip(stores, configs, strict=True)
                )
            )
            assert sorted(done) == [False, True]
            right = configs[done.index(True)]
            for store in stores:
                await eventually_async(lambda: _is(store, right))  # noqa: B023 - awaited here
            before = right

    async def story() -> None:
        stores = [TopicStore(worker), TopicStore(worker)]
        running = [asyncio.create_task(store.run()) for store in stores]
        try:
            async with asyncio.timeout(3 * PATIENCE_S):
                assert "being read" in str(stores[0].awaited)
                for store in stores:
                    await store.loaded()
                    assert store.awaited is None
                await race(stores)
        finally:
            await _ended(*running)

    asyncio.run(story())


def test_who_is_behind_takes_no_connector_of_another_worker_for_deleted(
    cluster_b: Cluster, unique: str
) -> None:
    worker = _worker(cluster_b, unique)

    async def story() -> None:
        behind, other = TopicStore(worker), TopicStore(worker)
        assert not await behind.is_gone("new"), "nothing is known yet"
        running = [asyncio.create_task(store.run()) for store in (behind, other)]
        try:
            async with asyncio.timeout(3 * PATIENCE_S):
                for store in (behind, other):
                    await store.loaded()
                await _ended(running[0])
                await other.add(ConnectorConfig("new", {"name": "new"}))
                assert "new" not in behind.contents.configs
                assert not await behind.is_gone("new")
                assert not await other.is_gone("new")
                assert await behind.is_gone("deleted")
                await other.add(ConnectorConfig("new", None))
                assert await other.is_gone("new")
        finally:
            await _ended(*running)

    asyncio.run(story())


def test_a_store_that_reads_its_topic_once_more_does_nothing_twice(
    cluster_b: Cluster, unique: str
) -> None:
    """Connectors used to be restarted once more for each time that they ever had been."""

    async def story() -> None:
        store = TopicStore(_worker(cluster_b, unique))
        running = asyncio.create_task(store.run())
        async with asyncio.timeout(3 * PATIENCE_S):
            await store.loaded()
            await store.add(
                ConnectorConfig("m", {"name": "m"}), ConnectorConfig("x", {"name": "x"})
            )
            await store.add(Restart("m", include_tasks=True, only_failed=False))
            await store.add(ConnectorConfig("x", None))
            await _ended(running)
            running = asyncio.create_task(store.run())
            await store.add(ConnectorConfig("y", {"name": "y"}))
            assert store.contents.configs.keys() == {"m", "y"}
            assert store.contents.restarts == {"m": 1}
            await _ended(running)

    asyncio.run(story())


async def _is(store: TopicStore, config: dict[str, str]) -> bool:
    assert store.contents.configs["m"] == config
    return True


async def _ended(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
