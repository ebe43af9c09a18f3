"""A mirror into a cluster that asks for a password, and out of one that asks for a certificate."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.certificates import PASSWORD
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.mirror import Mirror, properties
from tests.support.records import Sample, consume, create_topic, produce
from tests.support.secured import SECRET, of_cluster, security

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def test_records_pass_through_sasl_and_through_mutual_tls(
    cluster_a: Cluster, unique: str, tmp_path: Path
) -> None:
    brokers, clients = security(tmp_path)
    inward, outward = f"{unique}-in", f"{unique}-out"
    with KafkaCluster("secured", security=brokers) as secured:
        create_topic(cluster_a.bootstrap, inward)
        create_topic(secured.bootstrap, outward)
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
            assert mirror.stop() == 0
            assert SECRET not in mirror.text()
            assert PASSWORD not in mirror.text()
