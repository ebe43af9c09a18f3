"""Whether the extra ``otel`` is installed; imports nothing of it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from mm2.config.keys.keys_top import OTLP_ENDPOINT
from mm2.config.metrics_settings import MetricsSettings
from mm2.errors import ConfigError

EXPORTER: Final = "opentelemetry.exporter.otlp.proto.http.metric_exporter"


def require_otlp(settings: MetricsSettings) -> None:
    """
    Makes sure that metrics can be sent, if they are to be.

    Raises:
        ConfigError: the extra is not installed.
    """
    if settings.otlp is None or _is_installed():
        return
    message = (
        f"{OTLP_ENDPOINT} needs the OpenTelemetry SDK, which is not installed in this Python"
        " environment: pip install 'mm2[otel]', or remove the key"
    )
    raise ConfigError(message, key=OTLP_ENDPOINT)


def _is_installed() -> bool:
    try:
        return find_spec(EXPORTER) is not None
    except ModuleNotFoundError:  # Of a package above it.
        return False
