"""Sends metrics to an OpenTelemetry collector, if the file asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from mm2.config.flow_config import FlowConfig
from mm2.config.metrics_settings import MetricsSettings, metrics_of_file
from mm2.herder.view.led_flow import LedFlow
from mm2.supervision import keep_running


def metrics_of_flows(flows: Sequence[FlowConfig]) -> MetricsSettings:
    """The settings of the file that the flows are of."""
    maker = flows[0].maker
    return MetricsSettings() if maker is None else metrics_of_file(maker)


async def send_metrics(
    led: Callable[[], Sequence[LedFlow]],
    settings: MetricsSettings,
    node: str,
) -> None:
    """
    Sends until cancelled; ends at once if no collector is named.

    Args:
        settings: what is sent, and where to.
    """
    if settings.otlp is None:
        return

    async def run() -> None:
        export = await asyncio.to_thread(_sending, led, settings, node)
        await export()

    await keep_running("otlp", run)


def _sending(
    led: Callable[[], Sequence[LedFlow]], settings: MetricsSettings, node: str
) -> Callable[[], Coroutine[Any, Any, None]]:
    from mm2.metrics.otlp_export import OtlpExport  # noqa: PLC0415 - takes long, and is an extra
    from mm2.metrics.scrape import Metrics  # noqa: PLC0415

    assert settings.otlp is not None  # noqa: S101 - or nothing would be sent
    return OtlpExport(Metrics(led, settings).collect, settings.otlp, node).run
