"""Compares cluster ids when addresses alone cannot tell whether two clusters are the same."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from mm2.config.clients import worker_client_properties
from mm2.connect.connector import Connector
from mm2.connect.worker_config import WorkerConfig
from mm2.core.model import SOURCE_CONNECTOR
from mm2.errors import ClusterError, ConfigError
from mm2.kafka.admin import Admin

log = structlog.get_logger()

_KEY: Final = "target.cluster.bootstrap.servers"
_RETRY_S: Final = 2.0


async def reject_same_cluster(connector: Connector, worker: WorkerConfig) -> None:
    """
    Makes sure that a connector's target is not the worker's cluster in other words.

    Its positions would be looked for in a topic of its own, and not in the worker's, where Connect
    has them: everything would be copied again.

    Raises:
        ConfigError: it is.
    """
    topic = worker.properties["offset.storage.topic"]
    is_source = connector.kind.part == SOURCE_CONNECTOR and not connector.kind.is_sink
    if not (is_source and topic) or connector.flow.herder.offsets_topic == topic:
        return
    if len(await _answered(connector, worker)) == 1:
        servers = worker.properties["bootstrap.servers"]
        raise ConfigError(
            f"the target of connector {connector.name} is the worker's own cluster, but has no "
            "server in common with the worker's bootstrap.servers, so that its positions would not "
            f"be found in {topic} and everything would be copied again: write {_KEY} = {servers}, "
            "or leave the target's servers out",
            key=_KEY,
        )


async def _answered(connector: Connector, worker: WorkerConfig) -> set[str]:
    """Waits until both clusters have answered: positions are not read from the wrong topic."""
    is_logged = False
    while True:
        try:
            return await _cluster_ids(connector, worker)
        except ClusterError as error:
            if not is_logged:
                log.warning("connect.target_unknown", connector=connector.name, error=str(error))
            is_logged = True
            await asyncio.sleep(_RETRY_S)


async def _cluster_ids(connector: Connector, worker: WorkerConfig) -> set[str]:
    properties = {"client.id": worker.group_id, **worker.properties}
    flow = connector.flow
    admins = (
        Admin("of the worker", worker_client_properties(properties, "admin", "doubts")),
        Admin(flow.flow.target, flow.source.target_admin("doubts")),
    )
    ids: set[str] = set()
    for admin in admins:
        try:
            ids.add(await admin.cluster_id())
        finally:
            await admin.close()
    return ids
