"""
Single questions to a cluster, each with a client of its own (Java: ``RemoteClusterUtils``, C146).

Whoever asks several should keep a ``MirrorClient``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import overload

from mm2.client.arguments import GroupPattern
from mm2.client.mirror_client import TIMEOUT, MirrorClient, Offsets
from mm2.core.model import ClusterAlias, GroupId, TopicName


async def replication_hops(properties: Mapping[str, str], upstream: str) -> int:
    """As ``MirrorClient.replication_hops``."""
    async with MirrorClient(properties) as client:
        return await client.replication_hops(upstream)


async def heartbeat_topics(properties: Mapping[str, str]) -> set[TopicName]:
    """As ``MirrorClient.heartbeat_topics``."""
    async with MirrorClient(properties) as client:
        return await client.heartbeat_topics()


async def checkpoint_topics(properties: Mapping[str, str]) -> set[TopicName]:
    """As ``MirrorClient.checkpoint_topics``."""
    async with MirrorClient(properties) as client:
        return await client.checkpoint_topics()


async def upstream_clusters(properties: Mapping[str, str]) -> set[ClusterAlias]:
    """As ``MirrorClient.upstream_clusters``."""
    async with MirrorClient(properties) as client:
        return await client.upstream_clusters()


@overload
async def translate_offsets(
    properties: Mapping[str, str], remote_alias: str, group: str, timeout: timedelta = TIMEOUT
) -> Offsets: ...


@overload
async def translate_offsets(
    properties: Mapping[str, str],
    remote_alias: str,
    group: GroupPattern,
    timeout: timedelta = TIMEOUT,
) -> dict[GroupId, Offsets]: ...


@overload
async def translate_offsets(
    properties: Mapping[str, str],
    remote_alias: str,
    group: str | GroupPattern,
    timeout: timedelta = TIMEOUT,
) -> Offsets | dict[GroupId, Offsets]: ...


async def translate_offsets(
    properties: Mapping[str, str],
    remote_alias: str,
    group: str | GroupPattern,
    timeout: timedelta = TIMEOUT,
) -> Offsets | dict[GroupId, Offsets]:
    """As ``MirrorClient.remote_consumer_offsets``, but the alias precedes the group, as in Java."""
    async with MirrorClient(properties) as client:
        return await client.remote_consumer_offsets(group, remote_alias, timeout)
