"""Which topics of the source have copies on the target, and when the flow looks: behaviours 5.3."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from structlog.testing import capture_logs

from mm2.core.model import TopicName
from mm2.core.topics.acls import AclOperation
from mm2.core.topics.remote_configs import AlterConfig, ConfigOperation
from mm2.core.topics.topic_plan import GrowTopic
from mm2.herder.election.flow_leading import FlowLeading
from mm2.herder.election.group_election import NodeAssignments
from mm2.herder.source_controller import SourceController
from mm2.protocol.bundle_spec import BundleSpec
from tests.support.cluster import Cluster
from tests.support.eventually import eventually_async
from tests.support.records import create_topic
from tests.support.runners import EndlessRunner
from tests.support.taskless import alices_rule, taskless_flow

pytestmark = pytest.mark.broker


async def test_partitions_grow_and_never_shrink(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """C164, C166, C168, C410."""
    names = [f"{unique}-{n}" for n in range(2)]
    create_topic(cluster_a.bootstrap, names[0], 1)
    create_topic(cluster_a.bootstrap, names[1], 1)
    async with taskless_flow(cluster_a, cluster_b, unique) as flow:
        remotes = [TopicName(f"{flow.alias}.{name}") for name in names]
        create_topic(cluster_b.bootstrap, remotes[1], 4)
        assigned = await flow.discovery.refresh()
        assert len(assigned) == 2
        await flow.clusters.source.create_partitions(
            [GrowTopic(name=TopicName(names[0]), partitions=3)]
        )
        assigned = await eventually_async(flow.discovery.refresh, until=lambda a: len(a) == 4)
        target = await eventually_async(
            lambda: flow.clusters.target.describe_topics(remotes),
            until=lambda found: found[remotes[0]].partitions == 3,
        )
        assert target[remotes[1]].partitions == 4
        assert {p.partition for p in assigned if p.topic == names[0]} == {0, 1, 2}


async def test_a_topic_that_cannot_be_created_is_tried_again_and_the_others_are_copied(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """C167, C433: Java says that all is well."""
    create_topic(cluster_a.bootstrap, unique)
    create_topic(cluster_a.bootstrap, f"{unique}-2")
    async with taskless_flow(cluster_a, cluster_b, unique, {"replication.factor": "2"}) as flow:
        create_topic(cluster_b.bootstrap, f"{flow.alias}.{unique}-2")
        with capture_logs() as logs:
            for _ in range(2):
                assigned = await flow.discovery.refresh()
                assert [each.topic for each in assigned] == [f"{unique}-2"]
                assert not flow.discovery.is_complete
        (warning,) = [e for e in logs if e["event"] == "remote_topic.not_created"]
        assert warning["topic"] == flow.remote
        assert "INVALID_REPLICATION_FACTOR" in warning["error"]
        assert "set replication.factor" in warning["error"]


async def test_replicas_are_those_of_the_source_on_demand(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, unique)
    settings = {"replication.factor": "-1", "replication.factor.default.from": "source"}
    async with taskless_flow(cluster_a, cluster_b, unique, settings) as flow:
        source = await flow.clusters.source.describe_topics([TopicName(unique)])
        assert source[TopicName(unique)].replicas == 1
        assert await flow.discovery.refresh()


async def test_one_cluster_under_two_names_is_not_copied_without_end(
    cluster_a: Cluster, unique: str
) -> None:
    """C418: Java goes on to A.A.A.topic."""
    create_topic(cluster_a.bootstrap, unique)
    async with taskless_flow(cluster_a, cluster_a, unique, {"topics": f".*{unique}"}) as flow:
        assert [each.topic for each in await flow.discovery.refresh()] == [unique]
        await eventually_async(flow.clusters.source.list_topics, until=lambda t: flow.remote in t)
        with capture_logs() as logs:
            assert [each.topic for each in await flow.discovery.refresh()] == [unique]
        (error,) = [e for e in logs if e["event"] == "flow.mirrors_itself"]
        assert flow.remote in error["topics"]


class _Idle(EndlessRunner):
    """Runs bundles that do nothing."""

    async def run(self, spec: BundleSpec) -> Mapping[str, int]:
        await asyncio.Event().wait()
        return {}


@pytest.mark.parametrize("switch", ["true", "false"])
async def test_jobs_run_at_their_intervals_or_not_at_all(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, switch: str
) -> None:
    """C105, C149: the first look at topics is taken in any case."""
    create_topic(cluster_a.bootstrap, unique)
    jobs = ("refresh.topics", "sync.topic.configs", "sync.topic.acls")
    settings = {f"{job}.enabled": switch for job in jobs}
    settings |= {f"{job}.interval.seconds": "1" for job in jobs}
    async with taskless_flow(cluster_a, cluster_b, unique, settings) as flow:
        source, target = flow.clusters.source, flow.clusters.target
        leader = FlowLeading(
            flow.config,
            node="test",
            share=NodeAssignments(eligible=frozenset({str(flow.config.flow)})),
            stopping=asyncio.Event(),
            work=lambda term, _: SourceController(
                flow.config, flow.clusters, _Idle(), term, on_failure=lambda *_: None
            ).run(),
        )
        second = TopicName(f"{flow.remote}-2")
        rule = alices_rule(unique, AclOperation.READ)

        async def followed() -> tuple[bool, bool, bool]:
            configs = await flow.settings(flow.remote)
            is_known = second in await target.list_topics()
            return is_known, configs["retention.bytes"] == "7", bool(await flow.rules())

        async with asyncio.TaskGroup() as group:
            running = group.create_task(leader.run())
            await eventually_async(target.list_topics, until=lambda names: flow.remote in names)
            await asyncio.sleep(0.5)  # the first sync, where there is one, is over
            create_topic(cluster_a.bootstrap, f"{unique}-2")
            change = AlterConfig(TopicName(unique), "retention.bytes", ConfigOperation.SET, "7")
            await source.incremental_alter_configs([change])
            await source.create_acls([rule])
            if switch == "true":
                await eventually_async(followed, until=all)
            else:
                await asyncio.sleep(2.5)
                assert await followed() == (False, False, False)
            running.cancel()
        await source.delete_acls([rule])
        await target.delete_acls(sorted(await flow.rules()))
