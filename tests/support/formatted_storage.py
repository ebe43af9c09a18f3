"""
Storage of brokers that Kafka's tool formats once of a kind; other nodes get copies with ids of
their own.

The tool is a JVM, which takes a third of the CPU of a broker's start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mm2.demo.broker_node import START_TIMEOUT_S, BrokerNode, new_cluster_id
from mm2.demo.broker_settings import settings_text
from mm2.demo.processes import KafkaMissing

_FIRST_RECORDS: Final = "bootstrap.checkpoint"
"""What the metadata log begins with: versions of features, and users with their passwords."""

_OF_A_KIND: Final[dict[tuple[object, ...], bytes]] = {}


def format_storage(
    nodes: Sequence[BrokerNode], *, cluster_id: str, version: str, users: Mapping[str, str]
) -> None:
    """
    Formats the storage of all nodes of a cluster.

    Args:
        nodes: in the order of their ids, which count from 1.
        version: of Kafka.
        users: names and passwords (SCRAM).

    Raises:
        KafkaMissing: the storage tool failed.
    """
    kind = (version, *users.items())
    if kind not in _OF_A_KIND:
        _OF_A_KIND[kind] = _formatted(nodes[0], cluster_id, users)
    for number, node in enumerate(nodes, 1):
        data = node.home / "data"
        data.mkdir(exist_ok=True)
        (data / _FIRST_RECORDS).write_bytes(_OF_A_KIND[kind])
        (data / "meta.properties").write_text(settings_text(_ids(number, cluster_id)))


def _formatted(node: BrokerNode, cluster_id: str, users: Mapping[str, str]) -> bytes:
    if node.format(cluster_id, users).wait(START_TIMEOUT_S):
        raise KafkaMissing(f"Kafka's storage tool failed:\n{node.tail()}")
    return (node.home / "data" / _FIRST_RECORDS).read_bytes()


def _ids(number: int, cluster_id: str) -> dict[str, str]:
    return {
        "version": "1",
        "cluster.id": cluster_id,
        "node.id": str(number),
        "directory.id": new_cluster_id(),  # Made in the same way.
    }
