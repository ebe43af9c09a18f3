"""SIGTERM ends a node in good order whatever is wrong with one of its clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, properties
from tests.support.secured import of_cluster, security

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@dataclass(frozen=True)
class Target:
    """A cluster with listeners of all kinds."""

    cluster: KafkaCluster
    clients: dict[str, dict[str, str]]

    def settings(self, trouble: str) -> dict[str, str]:
        """How a node is to reach it, by what is wrong with that; nothing with other words."""
        by_password = self.clients["SASL_PLAINTEXT"]
        wrong = by_password["sasl.jaas.config"].replace("alice-secret", "wrong")
        sasl = self.cluster.listeners("SASL_PLAINTEXT")
        found: dict[str, dict[str, str]] = {
            "down": {"bootstrap.servers": "127.0.0.1:1"},
            "password": {**by_password, "sasl.jaas.config": wrong, "bootstrap.servers": sasl},
            "tls": {"bootstrap.servers": self.cluster.listeners("SSL")},
            "rights": {**by_password, "bootstrap.servers": sasl},
        }
        return found.get(trouble, {"bootstrap.servers": self.cluster.bootstrap})


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    brokers, clients = security(tmp_path_factory.mktemp("secured"))
    rights = {"allow.everyone.if.no.acl.found": "false"}
    with KafkaCluster("T", security=brokers, properties=rights) as cluster:
        yield Target(cluster, clients)


def _mirror(folder: Path, source: Cluster, target: Target, trouble: str) -> Mirror:
    at = target.settings(trouble)
    text = properties(
        {"A": source.bootstrap, "T": at.pop("bootstrap.servers")},
        {
            "A->T.enabled": "true",
            "T->A.enabled": "true",
            "topics": "nothing",
            **of_cluster("T", at),
        },
    )
    return Mirror(folder, text)


@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        ("down", "127.0.0.1:1 refuses connections"),
        ("password", "correct sasl.jaas.config"),
        ("tls", "set security.protocol to SSL"),
        ("rights", "AUTHORIZATION_FAILED|AuthorizationFailed"),
    ],
)
def test_a_node_that_never_gets_to_a_cluster_ends(
    cluster_a: Cluster, target: Target, tmp_path: Path, trouble: str, says: str
) -> None:
    with _mirror(tmp_path, cluster_a, target, trouble) as mirror:
        words = says.split("|")
        eventually(lambda: any(word in mirror.text() for word in words))
        assert mirror.stop() == 0
        assert "herder.not_stopped" not in mirror.text()
        mirror.wait_gone()


@pytest.mark.also_on_spark_cluster
@pytest.mark.parametrize("strike", [KafkaCluster.pause, KafkaCluster.kill], ids=["frozen", "gone"])
def test_a_node_that_loses_a_cluster_ends(
    cluster_a: Cluster, target: Target, tmp_path: Path, strike: Callable[[KafkaCluster], None]
) -> None:
    with _mirror(tmp_path, cluster_a, target, "none") as mirror:
        eventually(lambda: mirror.text().count("spark.started") == 1)
        eventually(lambda: mirror.text().count('"flow.started"') >= 2)
        try:
            strike(target.cluster)
            assert mirror.stop() == 0
            assert "herder.not_stopped" not in mirror.text()
            # It reads there what it is to copy, and has nothing to drain.
            assert '"bundle": "T->A/0", "within_s"' not in mirror.text()
            mirror.wait_gone()
        finally:
            target.cluster.resume()
            target.cluster.restart()
