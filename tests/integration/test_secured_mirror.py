"""A mirror into a cluster that asks for a password, and out of one that asks for a certificate."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.certificates import PASSWORD, Certified
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.layout import Security
from tests.support.mirror import Mirror, properties
from tests.support.records import Sample, consume, create_topic, produce

pytestmark = [pytest.mark.broker, pytest.mark.spark]

_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def test_records_pass_through_sasl_and_through_mutual_tls(
    cluster_a: Cluster, unique: str, tmp_path: Path
) -> None:
    authority = Certified.authority("authority")
    truststore = authority.truststore(tmp_path / "trust.p12")
    client = authority.issue("client").keystore(tmp_path / "client.p12", authority)
    security = Security(
        users={"alice": "alice-secret"},
        keystore=authority.issue("broker").keystore(tmp_path / "broker.p12", authority),
        keystore_password=PASSWORD,
        truststore=truststore,
    )
    inward, outward = f"{unique}-in", f"{unique}-out"
    with KafkaCluster("secured", security=security) as secured:
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
                "S.security.protocol": "SASL_PLAINTEXT",
                "S.sasl.mechanism": "SCRAM-SHA-512",
                "S.sasl.jaas.config": f'{_SCRAM} required username="alice" '
                'password="alice-secret";',
                "T.security.protocol": "SSL",
                "T.ssl.truststore.location": str(truststore),
                "T.ssl.truststore.password": PASSWORD,
                "T.ssl.keystore.location": str(client),
                "T.ssl.keystore.password": PASSWORD,
                "T.ssl.key.password": PASSWORD,
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
            assert "alice-secret" not in mirror.text()
            assert PASSWORD not in mirror.text()
