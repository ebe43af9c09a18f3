"""
Consumer groups in ZooKeeper, where consumers before Kafka 0.9 have them.

Offsets are decimal numbers at ``/consumers/GROUP/offsets/TOPIC/PARTITION``; who owns a partition
stands at ``/consumers/GROUP/owners/TOPIC/PARTITION`` for as long as it lives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from mm2.core.model import TopicName, TopicPartition
from mm2.errors import Unavailable
from mm2.kafka.security.zookeeper_tls import TlsHandler

_ALIAS: Final = "ZooKeeper"
_WITHIN_S: Final = 6.0
"""As ``zookeeper.connection.timeout.ms`` of the old consumer."""


@dataclass(frozen=True, slots=True)
class OwnedOffset:
    """
    What ZooKeeper has of a partition of a group.

    Attributes:
        offset: the next one to read; None if nothing was committed.
        owner: the consumer's thread that has the partition; None if nobody has.
    """

    offset: int | None
    owner: str | None


def zookeeper_groups(
    connect: str, groups: Iterable[str], tls: Mapping[str, str] | None = None
) -> dict[str, dict[TopicPartition, OwnedOffset]]:
    """
    The partitions of groups that have an offset, an owner, or both. Blocks.

    Args:
        connect: host:port,... and perhaps a path below which all of it lies.
        groups: their names.
        tls: ``ssl.*`` keys; None connects without TLS.

    Raises:
        ConfigError: the settings of TLS cannot be used.
        Unavailable: ZooKeeper does not answer.
    """
    with zookeeper_client(connect, tls) as client:
        return {group: dict(_of_group(client, f"/consumers/{group}")) for group in groups}


@contextmanager
def zookeeper_client(connect: str, tls: Mapping[str, str] | None = None) -> Iterator[KazooClient]:
    """
    A client that is connected meanwhile.

    Raises:
        ConfigError: the settings of TLS cannot be used.
        Unavailable: ZooKeeper does not answer, now or later.
    """
    handler = TlsHandler.of(tls)
    client = KazooClient(hosts=connect, handler=handler)
    try:
        client.start(timeout=_WITHIN_S)
        yield client
    except (KazooException, KazooTimeoutError, OSError) as error:
        reason = (handler and handler.trouble) or str(error) or type(error).__name__
        raise Unavailable(_ALIAS, f"{connect}: {reason}") from error
    finally:
        client.stop()
        client.close()


def _of_group(client: KazooClient, home: str) -> Iterator[tuple[TopicPartition, OwnedOffset]]:
    offsets, owners = f"{home}/offsets", f"{home}/owners"
    for topic in sorted({*children(client, offsets), *children(client, owners)}):
        kept, owned = f"{offsets}/{topic}", f"{owners}/{topic}"
        for partition in {*children(client, kept), *children(client, owned)}:
            offset = text(client, f"{kept}/{partition}") or ""
            found = OwnedOffset(
                int(offset) if is_number(offset) else None, text(client, f"{owned}/{partition}")
            )
            if is_number(partition) and found != OwnedOffset(None, None):
                yield TopicPartition(TopicName(topic), int(partition)), found


def children(client: KazooClient, path: str) -> list[str]:
    """The names below a path; none if it is not there."""
    try:
        found: list[str] = client.get_children(path)
    except NoNodeError:
        return []
    return found


def text(client: KazooClient, path: str) -> str | None:
    """What stands at a path; None if it is not there."""
    try:
        data, _ = client.get(path)
    except NoNodeError:
        return None
    return str(data or b"", "utf-8", "replace").strip()


def is_number(text: str) -> bool:
    """Whether it is an offset, or the name of a partition."""
    return text.isascii() and text.isdecimal()
