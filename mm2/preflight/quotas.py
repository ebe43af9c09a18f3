"""What quotas of a cluster allow the clients of a mirror."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mm2.config.flow_config import FlowConfig, data_producer
from mm2.core.checks import Check
from mm2.core.model import ClusterAlias
from mm2.core.preflight.client_quotas import (
    BYTE_RATES,
    Clients,
    allowed_rate,
    quotas_of,
    raising_command,
)
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import FlowClusters
from mm2.kafka.security.principal import principal


def source_client_ids(config: FlowConfig) -> list[str]:
    """What the clients of a flow's tasks call themselves on the source."""
    consumers = [config.source.source_consumer("replication-consumer", n) for n in _tasks(config)]
    return [each["client.id"] for each in consumers]


def target_client_ids(config: FlowConfig) -> list[str]:
    """What the clients of a flow's tasks call themselves on the target."""
    return [data_producer(config, n).properties["client.id"] for n in _tasks(config)]


def client_ids_on(alias: ClusterAlias, flows: Sequence[FlowConfig]) -> list[str]:
    """The client ids of all flows on a cluster."""
    found: list[str] = []
    for config in flows:
        found += source_client_ids(config) if config.flow.source == alias else []
        found += target_client_ids(config) if config.flow.target == alias else []
    return found


async def quota_check(
    admin: Admin, properties: Mapping[str, str], client_ids: Sequence[str]
) -> Check:
    """
    Which quotas hold for our clients.

    Raises:
        Unavailable: the cluster does not answer any more.
    """
    quotas = await _quotas(admin)
    if quotas is None:
        return Check.note("quotas", admin.alias, "not known: the cluster does not tell")
    found = quotas_of(quotas, _clients(properties, client_ids))
    if not found:
        return Check.go("quotas", admin.alias, "none that limit us")
    listed = "; ".join(
        f"{who}: {key} = {value:.0f}" for who, some in found.items() for key, value in some.items()
    )
    secured = properties.get("security.protocol", "PLAINTEXT").upper() != "PLAINTEXT"
    commands = (
        raising_command(who, some, servers=admin.servers, is_secured=secured)
        for who, some in found.items()
    )
    return Check.note(
        "quotas",
        admin.alias,
        f"quotas that limit us, on each broker: {listed}",
        remedy="\n".join(["If copying is too slow, raise them, here to twice as much:", *commands]),
    )


async def quota_rates(config: FlowConfig, clusters: FlowClusters) -> list[float]:
    """Bytes per second that quotas of both clusters allow a flow, where there are such."""
    read, write = BYTE_RATES
    source, target = config.source.source_admin(None), config.source.target_admin(None)
    sides = (
        (clusters.source, _clients(source, source_client_ids(config)), read),
        (clusters.target, _clients(target, target_client_ids(config)), write),
    )
    found: list[float] = []
    for admin, clients, key in sides:
        quotas = await _quotas(admin)
        if quotas:
            rate = allowed_rate(quotas, key, clients, len(await admin.survey.brokers()))
            found += [] if rate is None else [rate]
    return found


def _tasks(config: FlowConfig) -> range:
    """Numbers of tasks; at least one, where their number follows the lag."""
    return range(config.source.tasks_max or 1)


def _clients(properties: Mapping[str, str], client_ids: Sequence[str]) -> Clients:
    name = principal(properties)
    return Clients(None if name is None else name.removeprefix("User:"), client_ids)


async def _quotas(admin: Admin) -> dict[str, dict[str, float]] | None:
    """All quotas; None if the cluster does not tell."""
    try:
        return await admin.describe_client_quotas()
    except Unavailable:
        raise
    except ClusterError:
        return None
