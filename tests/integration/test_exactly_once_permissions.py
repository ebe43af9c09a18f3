"""What a principal of the mirror must be allowed to do exactly once, and what it is told else."""

from __future__ import annotations

import asyncio

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from structlog.testing import capture_logs

from flows.source.commit.committer import with_refresh
from mm2.core.model import GroupId
from mm2.errors import NotAuthorized
from mm2.kafka.admin import Admin
from mm2.kafka.client_settings import aiokafka_settings
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import ExactlyOnceSpec
from tests.support.bundle import Bench
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually
from tests.support.layout import Security
from tests.support.records import Sample, committed, create_topic, produce
from tests.support.specs import sample_spec

pytestmark = pytest.mark.broker

_UNTOLD_S = 600

_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def test_what_is_missing_is_named_and_the_mirror_runs_once_it_is_granted(
    cluster_a: Cluster, unique: str
) -> None:
    restricted = KafkaCluster(
        "B",
        security=Security(users={"mirror": "secret"}),
        properties={"allow.everyone.if.no.acl.found": "false", "offsets.retention.minutes": "2"},
    )
    topic = f"{unique}-t"
    create_topic(cluster_a.bootstrap, topic)
    produce(cluster_a.bootstrap, topic, [Sample(value=b"once")])
    with restricted as target:
        asyncio.run(_topics_that_we_may_not_create_are_taken_to_be_there(target))
        bench = Bench(cluster_a, target, unique, {topic: 1}, exactly_once=True)
        bench.changes = {"target": _client(target)}
        for prefix in (unique, "A."):
            for operation in (AclOperation.READ, AclOperation.WRITE):
                _grant(target, ResourceType.TOPIC, prefix, operation)
        _expect(bench, f"Write and Describe on '{unique}-task'")
        _grant(target, ResourceType.TRANSACTIONAL_ID, unique, AclOperation.WRITE)
        _expect(bench, f"group {bench.group}")
        _grant(target, ResourceType.GROUP, bench.group, AclOperation.READ)
        assert asyncio.run(_refresh_s(_client(target))) == _UNTOLD_S, "we may not see its settings"
        assert asyncio.run(_refresh_s({"bootstrap.servers": target.bootstrap})) == 30
        with bench.running():
            eventually(lambda: committed(target.bootstrap, bench.remote(topic)))


async def _topics_that_we_may_not_create_are_taken_to_be_there(cluster: KafkaCluster) -> None:
    """C328."""
    admin = Admin("B", _client(cluster))
    with capture_logs() as logs:
        assert not await admin.create_internal_topic(
            "mm2-offsets.A.internal", partitions=1, replication_factor=1, configs={}
        )
    await admin.close()
    assert [each["event"] for each in logs] == ["internal_topic.assumed"]


async def _refresh_s(properties: dict[str, str]) -> float:
    """How often offsets of idle partitions are committed anew: before they expire."""
    client = WireClient("B", aiokafka_settings(properties))
    await client.start()
    spec = sample_spec(exactly_once=ExactlyOnceSpec(group=GroupId("g")))
    found = (await with_refresh(spec, client)).exactly_once
    await client.close()
    assert found is not None
    return found.refresh_s


def _expect(bench: Bench, complaint: str) -> None:
    with bench.running(fails=True) as run:
        eventually(run.done)
    error = run.exception()
    assert isinstance(error, NotAuthorized)
    assert complaint in str(error)


def _client(cluster: KafkaCluster) -> dict[str, str]:
    return {
        "bootstrap.servers": cluster.listeners("SASL_PLAINTEXT"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{_SCRAM} required username="mirror" password="secret";',
    }


def _grant(cluster: KafkaCluster, kind: ResourceType, prefix: str, operation: AclOperation) -> None:
    binding = AclBinding(
        kind,
        prefix,
        ResourcePatternType.PREFIXED,
        "User:mirror",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    (granted,) = admin.create_acls([binding]).values()
    granted.result(60)
    # The broker hears of it a little later than whoever has asked for it.
    wanted = AclBindingFilter(
        kind,
        prefix,
        ResourcePatternType.PREFIXED,
        "User:mirror",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )
    eventually(lambda: admin.describe_acls(wanted).result(60))
