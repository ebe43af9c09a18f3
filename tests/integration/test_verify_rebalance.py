"""``mm2 verify rebalance``: groups whose partitions have one owner, none, or several."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.cluster import ClusterMetadata
from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)
from click.testing import CliRunner
from confluent_kafka import Consumer

from mm2.cli.mm2 import main
from tests.support.cluster import Cluster
from tests.support.eventually import eventually, eventually_async
from tests.support.groups import PROTOCOLS
from tests.support.records import create_topic
from tests.support.zookeeper import client_of, zookeeper

pytestmark = pytest.mark.broker


def _verify(cluster: Cluster, group: str) -> tuple[int, list[dict[str, Any]], str]:
    asked = ["--bootstrap-server", cluster.bootstrap, "--group", group, "--format", "json"]
    done = CliRunner().invoke(main, ["verify", "rebalance", *asked])
    return done.exit_code, json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_partition_has_one_owner_after_a_rebalance(
    cluster_a: Cluster, unique: str, protocol: str
) -> None:
    create_topic(cluster_a.bootstrap, unique, 4)
    settings = {"bootstrap.servers": cluster_a.bootstrap, "group.id": unique}
    members = [Consumer({**settings, "group.protocol": protocol}) for _ in range(2)]
    for each in members:
        each.subscribe([unique])

    def shared() -> list[dict[str, Any]]:
        for each in members:
            each.poll(0.1)
        status, rows, _ = _verify(cluster_a, unique)
        assert status == 0
        assert len({row["owner"] for row in rows}) == 2
        return rows

    try:
        rows = eventually(shared)
    finally:
        for each in members:
            each.close()
    assert [(row["partition"], row["owners"]) for row in rows] == [(n, "one") for n in range(4)]
    # A member that closes does not wait for ever until the group has let it go.
    status, _, told = eventually(lambda: _verify(cluster_a, unique), until=lambda seen: not seen[1])
    assert status == 1
    assert f"group {unique} has no members" in told


class _Careless(AbstractPartitionAssignor):  # type: ignore[misc]  # untyped
    """Gives partition 0 to all members, and partition 1 to nobody."""

    name: ClassVar[str] = "careless"
    version: ClassVar[int] = 0

    @classmethod
    def assign(
        cls, _: ClusterMetadata, members: Mapping[str, ConsumerProtocolMemberMetadata]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        return {
            member: ConsumerProtocolMemberAssignment(0, [(said.subscription[0], [0])], b"")
            for member, said in members.items()
        }

    @classmethod
    def metadata(cls, topics: set[str]) -> ConsumerProtocolMemberMetadata:
        return ConsumerProtocolMemberMetadata(0, list(topics), b"")

    @classmethod
    def on_assignment(cls, _: ConsumerProtocolMemberAssignment) -> None: ...


def test_consumers_in_zookeeper_are_to_own_each_partition(unique: str, tmp_path: Path) -> None:
    home = f"/consumers/{unique}"
    topic = {"version": 1, "partitions": {"0": [1], "1": [1]}}
    reads = {"version": 1, "subscription": {unique: 1}, "pattern": "static", "timestamp": "1"}
    with zookeeper(tmp_path) as address, client_of(address) as client:
        words = ["verify", "rebalance", "--zookeeper", address, "--group", unique]

        def verified() -> tuple[int, list[str]]:
            done = CliRunner().invoke(main, [*words, "--format", "json"])
            return done.exit_code, [row["owners"] for row in json.loads(done.stdout)]

        client.create(f"/brokers/topics/{unique}", json.dumps(topic).encode(), makepath=True)
        assert verified() == (1, [])
        with client_of(address) as consumer:
            for name in ("one", "two"):
                path = f"{home}/ids/{name}"
                consumer.create(path, json.dumps(reads).encode(), ephemeral=True, makepath=True)
            client.create(f"{home}/owners/{unique}/0", b"one-0", makepath=True)
            assert verified() == (1, ["one", "none"])
            client.create(f"{home}/owners/{unique}/1", b"two-0")
            assert verified() == (0, ["one", "one"])
            client.set(f"{home}/owners/{unique}/1", b"three-0")
            assert verified() == (1, ["one", "no member"])
        assert verified() == (1, [])
    refused = CliRunner().invoke(main, words)
    assert refused.exit_code == 3
    assert address in refused.stderr


async def test_partitions_with_several_owners_or_none_are_found(
    cluster_a: Cluster, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, unique, 2)
    consumers = [
        AIOKafkaConsumer(
            unique,
            bootstrap_servers=cluster_a.bootstrap,
            group_id=unique,
            partition_assignment_strategy=[_Careless],
        )
        for _ in range(2)
    ]
    for each in consumers:
        await each.start()
    try:

        async def owners() -> list[str]:
            status, rows, told = await asyncio.to_thread(_verify, cluster_a, unique)
            assert status == 1
            assert f"group {unique}: 2 of 2 partitions are wrong" in told
            return [row["owners"] for row in rows]

        assert await eventually_async(owners) == ["several", "none"]
    finally:
        for each in consumers:
            await each.stop()
