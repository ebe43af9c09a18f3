"""Both clusters of a flow, as its herder reaches them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import stamina
import structlog

from mm2.config.flow_config import FlowConfig
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.admin import Admin
from mm2.kafka.reachability import all_ports_closed

log = structlog.get_logger()

_WAIT_MOST_S: Final = 10.0
_ANSWER_WITHIN_S: Final = 4.0
"""Of a cluster that somebody waits for who wants to know how things are."""

_WAITED_WITHIN_S: Final = 15.0
"""Of one that is waited for anyway: under load a log-in takes long, and its end says more."""

_PATIENT_FOR_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class FlowClusters:
    """
    The admin clients of a flow.

    Attributes:
        source: of the cluster that is read.
        target: of the cluster that is written.
    """

    source: Admin
    target: Admin


@asynccontextmanager
async def admin_clients(config: FlowConfig) -> AsyncIterator[FlowClusters]:
    """Opens the flow's admin clients; whether the clusters answer is another question."""
    flow = config.flow
    source = Admin(flow.source, config.source.source_admin("replication-source-admin"))
    target = Admin(flow.target, config.source.target_admin("replication-target-admin"))
    try:
        yield FlowClusters(source, target)
    finally:
        await source.close()
        await target.close()


async def wait_until_reachable(
    admin: Admin, *, tell: Callable[[str | None], None] = lambda _: None
) -> None:
    """
    Waits, with back-off and for as long as it takes, until the cluster answers.

    Other flows go on meanwhile: a cluster that is down when mm2 starts is no reason to stop. Why it
    does not answer is logged once, until that is another reason.

    Args:
        admin: of the cluster.
        tell: is told each time why it does not answer, and None once it does.
    """
    told = ""
    async for attempt in stamina.retry_context(
        on=ClusterError, attempts=None, timeout=None, wait_initial=0.5, wait_max=_WAIT_MOST_S
    ):
        with attempt:
            try:
                await check_reachable(admin, within_s=_WAITED_WITHIN_S)
            except ClusterError as error:
                if str(error) != told:
                    log.warning("cluster.unreachable", cluster=admin.alias, error=str(error))
                told = str(error)
                tell(told)
                raise
    tell(None)


async def check_reachable(admin: Admin, *, within_s: float = _ANSWER_WITHIN_S) -> None:
    """
    Asks a cluster for a sign of life, and waits for it no longer than a few seconds.

    Where no broker runs at all, it does not wait that long.

    Args:
        admin: of the cluster.
        within_s: how long it waits otherwise.

    Raises:
        Unavailable: it does not answer.
        ClusterError: it refuses us.
    """
    asking = asyncio.ensure_future(admin.cluster_id(within_s=within_s))
    try:
        answered, _ = await asyncio.wait({asking}, timeout=_PATIENT_FOR_S)
        if not answered and await all_ports_closed(admin.servers):
            raise Unavailable(admin.alias, f"no answer: {admin.servers} refuses connections")
        await asking
    finally:
        asking.cancel()
