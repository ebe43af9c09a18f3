"""The group of a worker lets in our workers, or others: never both, whoever comes first."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from mm2.connect.connector_store import TopicStore
from mm2.connect.worker_config import WorkerConfig
from mm2.errors import FatalError
from mm2.kafka.groups.membership import Membership, MemberTimes, OtherProtocol
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S
from tests.support.records import create_topic

pytestmark = pytest.mark.broker


class _Stranger:
    """Stands for Java's workers, whose protocol is none of ours either."""

    name = "strange"

    def __init__(self) -> None:
        self.is_in = asyncio.Event()

    def subscription_user_data(self) -> bytes:
        return b""

    def decide(self, said: Mapping[str, bytes]) -> tuple[str, bytes]:
        return min(said), b""

    def decided(self, decision: bytes) -> None:
        del decision
        self.is_in.set()


def test_others_are_waited_for_at_first_and_kept_out_from_then_on(
    cluster_b: Cluster, unique: str
) -> None:
    """Two programs would run all connectors twice; what came second used to be let in."""
    create_topic(cluster_b.bootstrap, unique)
    worker = WorkerConfig(
        raw={
            "bootstrap.servers": cluster_b.bootstrap,
            "group.id": unique,
            "config.storage.topic": f"{unique}-configs",
            "config.storage.replication.factor": "1",
            "offset.storage.topic": f"{unique}-offsets",
            "status.storage.topic": f"{unique}-states",
        },
        is_distributed=True,
    )

    def strange(assignor: _Stranger) -> Membership:
        return Membership(
            "B",
            {"bootstrap.servers": cluster_b.bootstrap, "client.id": "stranger"},
            group_id=unique,
            topic=unique,
            assignor=assignor,
            times=MemberTimes(session=30_000, heartbeat=500, rebalance=30_000),
        )

    async def story() -> None:
        async with asyncio.timeout(3 * PATIENCE_S):
            there = asyncio.create_task(strange(stranger := _Stranger()).run())
            await stranger.is_in.wait()
            first, second = TopicStore(worker), TopicStore(worker)
            running = [asyncio.create_task(store.run()) for store in (first, second)]
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(first.loaded(), 1)
            await _ended(there)
            await first.loaded()
            await second.loaded()
            with pytest.raises(OtherProtocol):
                await strange(_Stranger()).run()
            # Only who has been away finds others there, and does not run connectors beside them.
            await _ended(*running)
            there = asyncio.create_task(strange(stranger := _Stranger()).run())
            await stranger.is_in.wait()
            with pytest.raises(FatalError, match="members of another program"):
                await first.run()
            await _ended(there)

    asyncio.run(story())


async def _ended(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
