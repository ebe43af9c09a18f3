"""Runs one query against several clusters; failures are returned per cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Generic, NamedTuple, TypeVar

from mm2.client.client_config import ClientConfig
from mm2.client.mirror_client import MirrorClient
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.model import ClusterAlias
from mm2.errors import ClusterError
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import check_reachable

T = TypeVar("T")


class ClusterAnswers(NamedTuple, Generic[T]):
    """What clusters have answered, and why others have not."""

    given: dict[ClusterAlias, T]
    failures: dict[ClusterAlias, ClusterError]


async def query_each(
    maker: MirrorMakerConfig,
    aliases: Iterable[ClusterAlias],
    ask: Callable[[ClusterAlias, MirrorClient], Awaitable[T]],
) -> ClusterAnswers[T]:
    """
    Asks clusters at the same time.

    Raises:
        ConfigErrors: the file has mistakes about one.
    """

    async def answer(alias: ClusterAlias) -> T | ClusterError:
        try:
            async with _client(maker, alias) as client:
                return await ask(alias, client)
        except ClusterError as error:
            return error

    named = list(dict.fromkeys(aliases))
    found = dict(zip(named, await asyncio.gather(*map(answer, named)), strict=True))
    return ClusterAnswers(
        {alias: each for alias, each in found.items() if not isinstance(each, ClusterError)},
        {alias: each for alias, each in found.items() if isinstance(each, ClusterError)},
    )


@asynccontextmanager
async def _client(maker: MirrorMakerConfig, alias: ClusterAlias) -> AsyncIterator[MirrorClient]:
    """Opens the client of a cluster that answers within seconds."""
    config = ClientConfig.of_cluster(maker, alias)
    admin = Admin(alias, config.client("admin"))
    try:
        await check_reachable(admin)
    finally:
        await admin.close()
    async with MirrorClient(config) as client:
        yield client
