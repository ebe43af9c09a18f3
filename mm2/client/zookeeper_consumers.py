"""
Who owns the partitions of groups in ZooKeeper, and whether the owners live.

A consumer before Kafka 0.9 stands at ``/consumers/GROUP/ids/ID`` for as long as it lives, with the
topics that it reads. Its threads are ID-0, ID-1 and so on; they own partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kazoo.client import KazooClient

from mm2.client.zookeeper_groups import children, is_number, text, zookeeper_client
from mm2.config.legacy.topic_patterns import TopicSelection
from mm2.core.json_text import read_json
from mm2.core.model import TopicName, TopicPartition
from mm2.core.verification.partition_owners import PartitionOwners, partition_owners
from mm2.errors import ConfigError

_TOPICS: Final = "/brokers/topics"
_INCLUDED: Final = "white_list"
_EXCLUDED: Final = "black_list"


@dataclass(frozen=True, slots=True)
class OlderGroup:
    """
    A group in ZooKeeper.

    Attributes:
        members: how many consumers it has.
        partitions: of the topics that they read, with their owners.
    """

    members: int
    partitions: list[PartitionOwners]


def older_groups(
    connect: str, groups: Iterable[str], tls: Mapping[str, str] | None = None
) -> dict[str, OlderGroup]:
    """
    The groups with all partitions of their topics, as ZooKeeper has them. Blocks.

    Args:
        connect: host:port,... and perhaps a path below which all of it lies.
        groups: their names.
        tls: ``ssl.*`` keys; None connects without TLS.

    Raises:
        ConfigError: the settings of TLS cannot be used.
        Unavailable: ZooKeeper does not answer.
    """
    with zookeeper_client(connect, tls) as client:
        topics = children(client, _TOPICS)
        return {group: _group(client, f"/consumers/{group}", topics) for group in groups}


def threads_of(consumer: str, registration: str, topics: Iterable[str]) -> dict[str, list[str]]:
    """
    The threads of a consumer, by the topics that they read.

    Args:
        registration: what it has written; nothing is known of one that cannot be read.
        topics: those that exist, for a consumer that has a pattern.
    """
    counts = _subscription(registration, topics)
    return {
        topic: [f"{consumer}-{number}" for number in range(threads)]
        for topic, threads in counts.items()
    }


def _subscription(registration: str, topics: Iterable[str]) -> Mapping[str, int]:
    try:
        found = read_json(registration)
        said = found["subscription"] if isinstance(found, dict) else {}
        counts = {str(name): int(threads) for name, threads in dict(said).items()}
        kind = found.get("pattern") if isinstance(found, dict) else None
        if kind not in {_INCLUDED, _EXCLUDED}:
            return counts
        ((pattern, threads),) = counts.items()
        selects = TopicSelection(
            include=pattern if kind == _INCLUDED else None,
            exclude=pattern if kind == _EXCLUDED else None,
        ).matcher()
    except (ValueError, TypeError, KeyError, ConfigError):
        return {}
    return {topic: threads for topic in topics if selects(topic)}


def _group(client: KazooClient, home: str, topics: list[str]) -> OlderGroup:
    members = children(client, f"{home}/ids")
    alive: dict[str, set[str]] = {}
    for member in members:
        registration = text(client, f"{home}/ids/{member}") or ""
        for topic, threads in threads_of(member, registration, topics).items():
            alive.setdefault(topic, set()).update(threads)
    found = [
        each
        for topic, threads in sorted(alive.items())
        for each in partition_owners(
            _partitions(client, topic), _owners(client, home, topic), threads
        )
    ]
    return OlderGroup(len(members), found)


def _partitions(client: KazooClient, topic: str) -> list[TopicPartition]:
    try:
        found = read_json(text(client, f"{_TOPICS}/{topic}") or "")
    except ValueError:
        return []
    numbers = found.get("partitions") if isinstance(found, dict) else None
    return [TopicPartition(TopicName(topic), int(n)) for n in numbers or () if is_number(str(n))]


def _owners(client: KazooClient, home: str, topic: str) -> dict[str, list[TopicPartition]]:
    found: dict[str, list[TopicPartition]] = {}
    for where, owner in _owned(client, f"{home}/owners/{topic}", topic):
        found.setdefault(owner, []).append(where)
    return found


def _owned(client: KazooClient, path: str, topic: str) -> Iterator[tuple[TopicPartition, str]]:
    for partition in children(client, path):
        owner = text(client, f"{path}/{partition}")
        if owner is not None and is_number(partition):
            yield TopicPartition(TopicName(topic), int(partition)), owner
