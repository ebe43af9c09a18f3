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

log = structlog.get_logger()

_WAIT_MOST_S: Final = 10.0
_ANSWER_WITHIN_S: Final = 4.0
"""Of a cluster that somebody waits for who wants to know how things are."""

_WAITED_WITHIN_S: Final = 15.0
"""Of one that is waited for anyway: under load a log-in takes long, and its end says more."""

_PATIENT_FOR_S: Final = 1.0
_REFUSES_WITHIN_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class FlowClusters:
    """The admin clients of a flow."""

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
        tell: is told each time why it does not answer, and None once it does.
    """
    reported = ""
    async for attempt in stamina.retry_context(
        on=ClusterError, attempts=None, timeout=None, wait_initial=0.5, wait_max=_WAIT_MOST_S
    ):
        with attempt:
            try:
                await check_reachable(admin, within_s=_WAITED_WITHIN_S)
            except ClusterError as error:
                if str(error) != reported:
                    log.warning("cluster.unreachable", cluster=admin.alias, error=str(error))
                reported = str(error)
                tell(reported)
                raise
    tell(None)


async def check_reachable(admin: Admin, *, within_s: float = _ANSWER_WITHIN_S) -> None:
    """
    Asks a cluster for a sign of life, and waits for it no longer than a few seconds.

    Where no broker runs at all, it does not wait that long.

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


async def all_ports_closed(servers: str) -> bool:
    """
    Whether all addresses refuse connections, as hosts do on which no broker runs.

    An address that does not answer, or that cannot be found, says nothing. Clients try a refused
    connection again and again, for a broker may just be starting; who asks only whether a cluster
    is there need not wait that long.
    """
    return all(await asyncio.gather(*map(_refuses, servers.split(","))))


async def _refuses(address: str) -> bool:
    host, _, port = address.strip().rpartition("://")[2].rpartition(":")
    try:
        async with asyncio.timeout(_REFUSES_WITHIN_S):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except ConnectionRefusedError:
        return True
    except (OSError, ValueError):
        return False
    writer.close()
    return False
