"""
Consumer groups in ZooKeeper, where consumers before Kafka 0.9 have them.

Offsets are decimal numbers at ``/consumers/GROUP/offsets/TOPIC/PARTITION``; who owns a partition
stands at ``/consumers/GROUP/owners/TOPIC/PARTITION`` for as long as it lives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from mm2.core.model import TopicName, TopicPartition
from mm2.errors import Unavailable

_ALIAS: Final = "ZooKeeper"
_WITHIN_S: Final = 6.0
"""As ``zookeeper.connection.timeout.ms`` of the old consumer."""


@dataclass(frozen=True, slots=True)
class OwnedOffset:
    """
    What ZooKeeper has of a partition of a group.

    Attributes:
        offset: the next one to read.
        owner: the consumer's thread that has the partition; None if nobody has.
    """

    offset: int
    owner: str | None


def zookeeper_groups(
    connect: str, groups: Iterable[str]
) -> dict[str, dict[TopicPartition, OwnedOffset]]:
    """
    The offsets of groups, with their owners; what is no offset is left out. Blocks.

    Args:
        connect: host:port,... and perhaps a path below which all of it lies.
        groups: their names.

    Raises:
        Unavailable: ZooKeeper does not answer.
    """
    with _client(connect) as client:
        return {group: dict(_of_group(client, f"/consumers/{group}")) for group in groups}


@contextmanager
def _client(connect: str) -> Iterator[KazooClient]:
    client = KazooClient(hosts=connect)
    try:
        client.start(timeout=_WITHIN_S)
        yield client
    except (KazooException, KazooTimeoutError, OSError) as error:
        raise Unavailable(_ALIAS, f"{connect}: {error or type(error).__name__}") from error
    finally:
        client.stop()
        client.close()


def _of_group(client: KazooClient, home: str) -> Iterator[tuple[TopicPartition, OwnedOffset]]:
    for topic in _children(client, f"{home}/offsets"):
        for partition in _children(client, f"{home}/offsets/{topic}"):
            offset = _text(client, f"{home}/offsets/{topic}/{partition}")
            owner = _text(client, f"{home}/owners/{topic}/{partition}")
            if _is_number(partition) and offset is not None and _is_number(offset):
                where = TopicPartition(TopicName(topic), int(partition))
                yield where, OwnedOffset(int(offset), owner)


def _children(client: KazooClient, path: str) -> list[str]:
    try:
        found: list[str] = client.get_children(path)
    except NoNodeError:
        return []
    return found


def _text(client: KazooClient, path: str) -> str | None:
    try:
        data, _ = client.get(path)
    except NoNodeError:
        return None
    return str(data or b"", "utf-8", "replace").strip()


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()
