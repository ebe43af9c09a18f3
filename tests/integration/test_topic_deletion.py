"""What becomes of the copies of topics that are deleted, or that we see no longer."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from mm2.core.model import TopicName, TopicPartition
from mm2.core.topics.acls import AclBinding, AclOperation
from mm2.herder.offsets.position_store import PositionStore
from mm2.kafka.admin import Admin
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually_async
from tests.support.layout import Security
from tests.support.records import create_topic
from tests.support.taskless import TasklessFlow, alices_rule, taskless_flow

pytestmark = pytest.mark.broker

_DELETING = {"source.topic.deleted.policy": "delete", "refresh.topics.interval.seconds": "1"}


async def test_a_deleted_topics_copy_stays_by_default(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """C166, C413."""
    create_topic(cluster_a.bootstrap, unique)
    async with taskless_flow(cluster_a, cluster_b, unique) as flow:
        await flow.begin()
        await flow.delete_source(unique)
        await flow.look(4)
        assert flow.remote in await flow.clusters.target.list_topics()


async def test_a_deleted_topics_copy_goes_on_demand_with_its_positions(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    other = f"{unique}-other"
    for name in (unique, other):
        create_topic(cluster_a.bootstrap, name)
    async with taskless_flow(cluster_a, cluster_b, unique, _DELETING) as flow:
        await flow.begin()
        store = PositionStore(flow.config)
        positions = {TopicPartition(TopicName(name), 0): 7 for name in (unique, other)}
        await store.save({**positions})
        await flow.delete_source(unique)
        await flow.look(2)
        assert flow.remote in await flow.clusters.target.list_topics()
    # A restart remembers what was mirrored, and counts anew.
    async with taskless_flow(cluster_a, cluster_b, unique, _DELETING) as flow:
        await eventually_async(
            flow.clusters.target.list_topics, until=lambda names: flow.remote in names
        )

        async def looked() -> set[TopicName]:
            await flow.look(1)
            return await flow.clusters.target.list_topics()

        await eventually_async(looked, until=lambda names: flow.remote not in names)
        assert f"{flow.alias}.{other}" in await flow.clusters.target.list_topics()
        assert await PositionStore(flow.config).load() == {TopicPartition(TopicName(other), 0): 7}


async def test_a_copy_stays_if_the_source_is_another_cluster(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """A name that leads to another cluster must not delete what the first one had."""
    create_topic(cluster_a.bootstrap, unique)
    async with taskless_flow(cluster_a, cluster_b, unique, _DELETING) as flow:
        await flow.begin()
        remote = flow.remote
    async with taskless_flow(cluster_b, cluster_b, unique, _DELETING) as flow:
        with capture_logs() as logs:
            await flow.look(4)
        (error,) = [e for e in logs if e["event"] == "remote_topic.not_deleted"]
        assert "another cluster" in error["reason"]
        assert remote in await flow.clusters.target.list_topics()


async def test_a_copy_stays_if_the_topic_is_hidden_from_us(cluster_b: Cluster, unique: str) -> None:
    """Lists leave out what we may not see: that is not the same as being gone."""
    with KafkaCluster("hiding", security=Security(users={"alice": "secret"})) as hiding:
        create_topic(hiding.bootstrap, unique)
        create_topic(hiding.bootstrap, f"{unique}-2")
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        alias = f"S{unique[-8:]}"
        settings = {
            **_DELETING,
            f"{alias}.bootstrap.servers": hiding.listeners("SASL_PLAINTEXT"),
            f"{alias}.security.protocol": "SASL_PLAINTEXT",
            f"{alias}.sasl.mechanism": "PLAIN",
            f"{alias}.sasl.jaas.config": f'{module} required username="alice" password="secret";',
        }
        owner = Admin("S", {"bootstrap.servers": hiding.bootstrap})
        async with taskless_flow(hiding, cluster_b, unique, settings) as flow:
            await flow.begin()
            await _settings_that_may_not_be_read_stop_one_topic_only(hiding, owner, flow)
            bob = AclBinding(name=unique, principal="User:bob", operation=AclOperation.READ)
            await owner.create_acls([bob])
            await owner.close()
            source = flow.clusters.source
            await eventually_async(source.list_topics, until=lambda names: unique not in names)

            async def kept() -> list[str]:
                with capture_logs() as logs:
                    await flow.look(1)
                return [e["reason"] for e in logs if e["event"] == "remote_topic.not_deleted"]

            (reason,) = await eventually_async(kept)
            assert "TOPIC_AUTHORIZATION_FAILED" in reason
            assert flow.remote in await flow.clusters.target.list_topics()


async def _settings_that_may_not_be_read_stop_one_topic_only(
    cluster: Cluster, owner: Admin, flow: TasklessFlow
) -> None:
    """C184: Java then creates none of the topics that are new."""
    secret, open_ = TopicName(f"{flow.topic}-secret"), TopicName(f"{flow.topic}-open")
    create_topic(cluster.bootstrap, secret)
    create_topic(cluster.bootstrap, open_)
    await owner.create_acls([alices_rule(secret, AclOperation.READ)])
    await eventually_async(owner.describe_topic_acls)
    with capture_logs() as logs:
        assigned = await eventually_async(
            flow.discovery.refresh, until=lambda a: TopicPartition(open_, 0) in a
        )
    assert TopicPartition(secret, 0) not in assigned
    assert {e["topic"] for e in logs if e["event"] == "remote_topic.not_created"} == {secret}


async def test_a_copy_stays_if_the_topic_was_excluded_before_it_was_deleted(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, unique)
    async with taskless_flow(cluster_a, cluster_b, unique, _DELETING) as flow:
        await flow.begin()
    settings = {**_DELETING, "topics.exclude": unique}
    async with taskless_flow(cluster_a, cluster_b, unique, settings) as flow:
        await flow.begin()
        await flow.delete_source(unique)
        await flow.look(4)
        assert flow.remote in await flow.clusters.target.list_topics()
