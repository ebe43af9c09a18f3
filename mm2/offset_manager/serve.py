"""Runs an instance with its server until it is told to stop."""

from __future__ import annotations

import asyncio
import resource
import ssl
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import structlog

from mm2.config.offset_manager_settings import OffsetManagerSettings
from mm2.errors import ClusterError, FatalError, fatal_error, root_cause
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.security.tls import server_tls_context
from mm2.kafka.wire.relay import RelaySettings
from mm2.offset_manager.instance import OffsetManager
from mm2.offset_manager.server.client_listener import OffsetServer
from mm2.offset_manager.server.client_session import ClusterAccess
from mm2.offset_manager.server.connection_slots import ConnectionSlots
from mm2.offset_manager.server.sasl import LogIns, log_ins

log = structlog.get_logger()

Address = tuple[str, int]


async def serve(
    settings: OffsetManagerSettings,
    listen: Address,
    advertise: Address,
    obey: Callable[[asyncio.AbstractEventLoop, Callable[[], None]], None],
    show: Callable[[Callable[[], str]], AbstractAsyncContextManager[None]],
) -> None:
    """
    Serves clients until a signal comes.

    Args:
        settings: of the offset manager.
        listen: where it listens.
        advertise: where clients reach it.
        obey: has signals call what it is given.
        show: shows metrics, of which it is given the text, to who asks.

    Raises:
        ConfigError: the settings of the clients or of TLS cannot be used.
        FatalError: it cannot go on.
        ClusterError: the cluster does not answer at the start, or refuses us.
    """
    raise_open_files()
    for warning in settings.warnings:
        log.warning("config.spelling", message=warning)
    stopping = asyncio.Event()
    obey(asyncio.get_running_loop(), stopping.set)
    manager = OffsetManager(settings, host=advertise[0], port=advertise[1])
    link = ClusterClient(manager.alias, settings.properties)
    access = ClusterAccess(
        link, RelaySettings(manager.alias, settings.properties), _log_ins(settings)
    )
    slots = ConnectionSlots(
        settings.max_connections,
        settings.max_connections_per_ip,
        has_newcomers=settings.has_login or settings.has_tls,
    )
    server = OffsetServer(manager, access, slots, _tls(settings))
    listening = await server.serve(*listen)
    log.info("offset_manager.serving", listen=_shown(listen), advertise=_shown(advertise))
    try:
        async with show(manager.metrics):
            await manager.run(stopping)
    except BaseExceptionGroup as group:
        raise _cause(group) from group
    finally:
        listening.close()
        server.close()
        await link.close()
        log.info("offset_manager.stopped")


def raise_open_files() -> None:
    """Each connection is an open file; Java raises the limit to the hard one by itself."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _log_ins(settings: OffsetManagerSettings) -> LogIns | None:
    return log_ins(settings.mechanisms, settings.users) if settings.has_login else None


def _tls(settings: OffsetManagerSettings) -> ssl.SSLContext | None:
    if not settings.has_tls:
        return None
    return server_tls_context(settings.tls, client_auth=settings.client_auth)


def _cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What is told to people."""
    cause = fatal_error(group) or root_cause(group)
    if isinstance(cause, FatalError | ClusterError):
        return cause
    return FatalError(f"{type(cause).__name__}: {cause}")


def _shown(address: Address) -> str:
    return f"{address[0]}:{address[1]}"
