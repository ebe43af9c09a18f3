"""Rules of topics, behaviours 5.6 and what goes beyond."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from mm2.core.topics.acls import AclBinding, AclOperation, AclPermission, PatternType
from tests.support.cluster import Cluster
from tests.support.eventually import eventually_async
from tests.support.records import create_topic
from tests.support.taskless import TasklessFlow, alices_rule, taskless_flow

pytestmark = pytest.mark.broker


async def test_rules_that_the_source_lost_go_on_demand_and_others_stay(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """C186-C191, C413: Java never deletes a rule."""
    create_topic(cluster_a.bootstrap, unique)
    read, describe, deny = (
        alices_rule(unique, AclOperation.READ),
        alices_rule(unique, AclOperation.DESCRIBE),
        alices_rule(unique, AclOperation.WRITE, permission=AclPermission.DENY),
    )
    on = {"sync.topic.acls.delete.enabled": "true"}
    async with taskless_flow(cluster_a, cluster_b, unique, on) as flow:
        source, target = flow.clusters.source, flow.clusters.target
        await flow.discovery.refresh()
        await source.create_acls([read, describe, deny])
        own = alices_rule(flow.remote, AclOperation.ALTER_CONFIGS)
        await target.create_acls([own])
        await eventually_async(source.describe_topic_acls, until=lambda r: deny in r)
        await flow.discovery.sync_acls()
        copies = {_on(flow, rule) for rule in (read, describe, deny)}
        await eventually_async(flow.rules, until=lambda rules: rules == {*copies, own})
        assert await source.delete_acls([read]) == {}
        await eventually_async(source.describe_topic_acls, until=lambda r: read not in r)
    # What is remembered outlives the process.
    async with taskless_flow(cluster_a, cluster_b, unique, on) as flow:
        await flow.discovery.refresh()
        with capture_logs() as logs:
            await flow.discovery.sync_acls()
        assert [e["event"] for e in logs] == ["topic_acl.deleted"]
        rest = {_on(flow, describe), _on(flow, deny), own}
        await eventually_async(flow.rules, until=lambda rules: rules == rest)
        await flow.clusters.source.delete_acls([describe, deny])
        await flow.clusters.target.delete_acls(sorted(rest))


def _on(flow: TasklessFlow, rule: AclBinding) -> AclBinding:
    return AclBinding(
        name=f"{flow.alias}.{rule.name}",
        principal=rule.principal,
        operation=rule.operation,
        permission=rule.permission,
        pattern_type=rule.pattern_type,
    )


async def test_rules_stay_by_default_and_rules_of_prefixes_are_passed_over(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """C186, C191, C413, C414."""
    create_topic(cluster_a.bootstrap, unique)
    read = alices_rule(unique, AclOperation.READ)
    prefixed = alices_rule(unique[:-2], AclOperation.ALL, pattern_type=PatternType.PREFIXED)
    async with taskless_flow(cluster_a, cluster_b, unique) as flow:
        source = flow.clusters.source
        await flow.discovery.refresh()
        await source.create_acls([read, prefixed])
        await eventually_async(source.describe_topic_acls, until=lambda r: prefixed in r)
        await flow.discovery.sync_acls()
        await eventually_async(flow.rules, until=lambda rules: rules == {_on(flow, read)})
        await source.delete_acls([read])
        await eventually_async(source.describe_topic_acls, until=lambda r: read not in r)
        await flow.discovery.sync_acls()
        assert await flow.rules() == {_on(flow, read)}
    async with taskless_flow(
        cluster_a, cluster_b, unique, {"sync.topic.acls.prefixed.enabled": "true"}
    ) as flow:
        await flow.discovery.refresh()
        await flow.discovery.sync_acls()
        expected = alices_rule(
            f"{flow.alias}.{unique[:-2]}", AclOperation.READ, pattern_type=PatternType.PREFIXED
        )
        await eventually_async(flow.rules, until=lambda rules: expected in rules)
        await flow.clusters.source.delete_acls([prefixed])
        await flow.clusters.target.delete_acls(sorted(await flow.rules()))


async def test_where_names_stay_the_target_gets_the_rights_to_read_only(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """A prefix or an ALTER copied under the same name would hold for the target's own topics."""
    create_topic(cluster_a.bootstrap, unique)
    read = alices_rule(unique, AclOperation.READ)
    others = [
        alices_rule(unique, AclOperation.ALTER),
        alices_rule(unique, AclOperation.DELETE),
        alices_rule(unique[:-2], AclOperation.DELETE, pattern_type=PatternType.PREFIXED),
    ]
    settings = {
        "replication.policy.class": "IdentityReplicationPolicy",
        "sync.topic.acls.prefixed.enabled": "true",
    }

    async with taskless_flow(cluster_a, cluster_b, unique, settings) as flow:
        source = flow.clusters.source
        await source.create_acls([read, *others])
        await eventually_async(
            source.describe_topic_acls, until=lambda rules: {read, *others} <= set(rules)
        )
        with capture_logs() as logs:
            assert await _copied(flow, until=read) == {read}
        (warning,) = [e for e in logs if e["event"] == "topic_acls.only_reading_copied"]
        assert warning["left_out"] == len(others)
    settings["sync.topic.acls.same.name"] = "all"
    async with taskless_flow(cluster_a, cluster_b, unique, settings) as flow:
        assert await _copied(flow, until=others[-1]) == {read, *others}
        for cluster in (flow.clusters.source, flow.clusters.target):
            assert await cluster.delete_acls([read, *others]) == {}


async def _copied(flow: TasklessFlow, *, until: AclBinding) -> set[AclBinding]:
    """Rules of the topic, or a prefix of it, in the target after a sync."""
    await flow.discovery.refresh()
    await flow.discovery.sync_acls()

    async def found() -> set[AclBinding]:
        rules = await flow.clusters.target.describe_topic_acls()
        return {rule for rule in rules if flow.topic.startswith(rule.name)}

    return await eventually_async(found, until=lambda rules: until in rules)
