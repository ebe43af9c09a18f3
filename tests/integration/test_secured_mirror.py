"""A mirror into a cluster that asks for a password, and out of one that asks for a certificate."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from mm2.core.topics.acls import AclBinding, AclOperation, PatternType
from tests.support.certificates import PASSWORD
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually
from tests.support.groups import group_offsets
from tests.support.mirror import Mirror, properties
from tests.support.records import Sample, commit_group, consume, create_topic, produce
from tests.support.secured import SECRET, of_cluster, security
from tests.support.taskless import alices_rule
from tests.support.topics import allow, settings_of, topic_acls

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def test_all_that_is_mirrored_passes_through_sasl_and_through_mutual_tls(
    cluster_a: Cluster, unique: str, tmp_path: Path
) -> None:
    brokers, clients = security(tmp_path)
    inward, outward = f"{unique}-in", f"{unique}-out"
    with KafkaCluster("secured", security=brokers) as secured:
        sources = {inward: cluster_a, outward: secured}
        for topic, source in sources.items():
            create_topic(source.bootstrap, topic, 1, {"retention.bytes": "123456"})
            allow(source, alices_rule(topic, AclOperation.READ))
        # Where everybody may do what no rule is about, a copied rule takes that from the mirror.
        everything = partial(AclBinding, operation=AclOperation.ALL)
        prefix = everything(name="A.", principal="User:alice", pattern_type=PatternType.PREFIXED)
        for rule in (prefix, everything(name=outward, principal="User:CN=client")):
            allow(secured, rule)
        text = properties(
            {
                "A": cluster_a.bootstrap,
                "S": secured.listeners("SASL_PLAINTEXT"),
                "T": secured.listeners("SSL"),
            },
            {
                "emit.heartbeats.enabled": "false",
                "A->S.enabled": "true",
                "A->S.topics": inward,
                "T->A.enabled": "true",
                "T->A.topics": outward,
                "groups": f"{unique}.*",
                "sync.group.offsets.enabled": "true",
                "sync.group.offsets.interval.seconds": "1",
                "sync.topic.acls.enabled": "true",
                "sync.topic.acls.interval.seconds": "1",
                **of_cluster("S", clients["SASL_PLAINTEXT"]),
                **of_cluster("T", clients["SSL"]),
            },
        )
        with Mirror(tmp_path, text) as mirror:
            produce(cluster_a.bootstrap, inward, [Sample(value=b"in")])
            produce(secured.bootstrap, outward, [Sample(value=b"out")])
            (copied,) = consume(secured.bootstrap, f"A.{inward}", 1)
            assert copied.value == b"in"
            (copied,) = consume(cluster_a.bootstrap, f"T.{outward}", 1)
            assert copied.value == b"out"
            _follows(secured, "A", inward, source=cluster_a)
            _follows(cluster_a, "T", outward, source=secured)
            assert mirror.stop() == 0
            assert SECRET not in mirror.text()
            assert PASSWORD not in mirror.text()


def _follows(target: Cluster, alias: str, topic: str, *, source: Cluster) -> None:
    """Offsets of groups, settings and ACLs of the topic arrive, too."""
    remote = f"{alias}.{topic}"
    commit_group(source.bootstrap, topic, {(topic, 0): 1})
    eventually(lambda: group_offsets(target.bootstrap, topic) == {(remote, 0): 1})
    assert settings_of(target, remote)["retention.bytes"] == "123456"
    eventually(lambda: alices_rule(remote, AclOperation.READ) in topic_acls(target))
