"""The REST interface in the driver: its ports at once, its code when flows run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

import structlog

from mm2.config.checks.failed_flows import FailedFlow
from mm2.config.flow_config import FlowConfig
from mm2.config.rest_settings import rest_of_file
from mm2.herder.view.led_flow import LedFlow
from mm2.rest.listeners import ServerSetup, prepare

_FLOWS_FIRST_S: Final = 2.0

log = structlog.get_logger()

Flows = Callable[[], Sequence[FlowConfig]]
Failed = Callable[[], Sequence[FailedFlow]]
Led = Callable[[], Sequence[LedFlow]]


def server_setup(flows: Sequence[FlowConfig]) -> ServerSetup | None:
    """
    The interface that the flows' file asks for; None if it wants none, or no port is free.

    Raises:
        FatalError: a listener that was asked for cannot be had.
        ConfigError: stores of certificates, passwords or patterns of origins cannot be used.
    """
    maker = flows[0].maker
    settings = rest_of_file(maker) if maker is not None else None
    setup = prepare(settings) if settings is not None else None
    return setup if setup is not None and (setup.bound or setup.metrics) else None


async def serve_rest(
    flows: Flows,
    failed: Failed,
    led: Led,
    setup: ServerSetup | None,
    *,
    after: asyncio.Event,
) -> None:
    """
    Serves the interface until cancelled; requests that come earlier wait.

    Args:
        flows: the flows as their file has them now.
        setup: where and to whom; None serves nothing.
        after: is waited for, and some seconds more, because the HTTP library takes long to import,
            and the first records come first.
    """
    if setup is None:
        return
    await after.wait()
    await asyncio.sleep(_FLOWS_FIRST_S)
    try:
        serve = await asyncio.to_thread(_service)
        await serve(flows, failed, led, setup)
    except Exception as error:
        log.error("rest.ended", exc_info=error)


def _service() -> Callable[[Flows, Failed, Led, ServerSetup], Coroutine[Any, Any, None]]:
    from mm2.rest.server import serve_flows  # noqa: PLC0415 - see above

    return serve_flows
