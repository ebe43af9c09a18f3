"""Which flows are ready: their clusters answer, and a node leads them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from mm2.config.flow_config import FlowConfig
from mm2.core.model import ClusterAlias
from mm2.errors import ClusterError, ConfigError
from mm2.herder.view.flow_problems import problems_of
from mm2.herder.view.followed_flows import FollowedFlows
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import check_reachable
from mm2.rest.connector_protocol import Readiness
from mm2.rest.rest_errors import not_found

_Cluster: TypeAlias = tuple[str, str]
"""Alias and addresses: connectors may call different clusters the same."""


async def readiness_of(
    flows: Mapping[str, FlowConfig], views: FollowedFlows, only: str | None
) -> Readiness:
    """
    Sends a request to all clusters of flows at the same time, and then checks who leads the flows.

    Args:
        flows: by the names that clients know.
        only: check this flow alone.

    Raises:
        RestError: there is no such flow.
    """
    if only is not None and only not in flows:
        raise not_found(f"Flow {only} not found; there are {', '.join(flows) or 'none'}")
    asked = {only: flows[only]} if only is not None else dict(flows)
    admins = {_key(admin): admin for each in asked.values() for admin in _admins(each)}
    reasons = dict(
        zip(admins, await asyncio.gather(*map(unreachable, admins.values())), strict=True)
    )
    answers = await asyncio.gather(*(_reason(each, reasons, views) for each in asked.values()))
    return Readiness(flows=dict(zip(asked, answers, strict=True)), clusters=reasons)


async def unreachable(admin: Admin) -> str | None:
    """Why a cluster does not answer; None if it does. Closes its client."""
    try:
        await check_reachable(admin)
    except ClusterError as error:
        return str(error)
    except ConfigError as error:
        # Its message may contain a secret.
        return f"cluster {admin.alias}: {error.key or 'a setting'} cannot be used"
    finally:
        await admin.close()
    return None


def _admins(config: FlowConfig) -> Iterator[Admin]:
    """Clients of the clusters that a flow needs."""
    yield Admin(config.flow.target, config.source.target_admin("rest-admin"))
    if config.source.runs or config.checkpoint.runs:
        yield Admin(config.flow.source, config.source.source_admin("rest-admin"))


def _key(admin: Admin) -> _Cluster:
    return ClusterAlias(admin.alias), admin.servers


async def _reason(
    config: FlowConfig, reasons: Mapping[_Cluster, str | None], views: FollowedFlows
) -> str | None:
    """Why a flow is not ready."""
    for admin in _admins(config):
        if reason := reasons[_key(admin)]:
            return reason
    try:
        view = await views.of(config)
    except ClusterError as error:
        return str(error)
    return None if view.is_led else problems_of(view)[0]
