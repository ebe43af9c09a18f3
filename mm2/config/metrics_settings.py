"""Reads which metrics a node exports, and where to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from mm2.config.keys.definition import parse_all
from mm2.config.keys.key_table import TABLE
from mm2.config.keys.key_types import Value
from mm2.config.keys.keys_top import (
    METRICS_ALIASES,
    METRICS_ENABLED,
    METRICS_GROUPS,
    OTLP_ENDPOINT,
    OTLP_HEADERS,
    OTLP_INTERVAL,
    http_headers,
)
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.errors import ConfigErrors

_NAMES: Final = (
    METRICS_ALIASES,
    METRICS_ENABLED,
    METRICS_GROUPS,
    OTLP_ENDPOINT,
    OTLP_HEADERS,
    OTLP_INTERVAL,
)
_KEYS: Final = {name: TABLE[name] for name in _NAMES}
_OTLP_PATH: Final = "/v1/metrics"


@dataclass(frozen=True, slots=True, kw_only=True)
class OtlpSettings:
    """
    Where metrics are sent by OTLP over HTTP.

    Attributes:
        endpoint: the whole URL.
        headers: of each request; they may hold credentials.
        interval_s: between two exports.
    """

    endpoint: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    interval_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSettings:
    """
    What is exported.

    Attributes:
        aliases: other spellings of Java's series, of ``keys_top.METRIC_ALIASES``.
        most_groups: partitions of groups of each flow that have series; others are counted only.
        otlp: where metrics are sent; None if they are not.
    """

    enabled: bool = True
    aliases: tuple[str, ...] = ()
    most_groups: int = 1000
    otlp: OtlpSettings | None = None


def metrics_of_file(maker: MirrorMakerConfig) -> MetricsSettings:
    """
    The settings that a mirror's file asks for.

    Raises:
        ConfigErrors: all that is wrong with them.
    """
    own = {key: value for key, value in maker.originals.items() if key in _KEYS}
    return read_metrics(maker.resolve(own))


def read_metrics(properties: Mapping[str, str]) -> MetricsSettings:
    """
    The settings that top-level keys ask for.

    Raises:
        ConfigErrors: all that is wrong with them.
    """
    values, mistakes = parse_all(_KEYS, properties)
    if mistakes:
        raise ConfigErrors(mistakes)
    aliases, most_groups = values[METRICS_ALIASES], values[METRICS_GROUPS]
    return MetricsSettings(
        enabled=values[METRICS_ENABLED] is not False,
        aliases=aliases if isinstance(aliases, tuple) else (),
        most_groups=most_groups if isinstance(most_groups, int) else 0,
        otlp=_otlp(values),
    )


def _otlp(values: Mapping[str, Value]) -> OtlpSettings | None:
    endpoint, interval_ms = values[OTLP_ENDPOINT], values[OTLP_INTERVAL]
    if not endpoint or not isinstance(interval_ms, int):
        return None
    url = urlsplit(str(endpoint))
    return OtlpSettings(
        endpoint=urlunsplit(url if url.path.strip("/") else url._replace(path=_OTLP_PATH)),
        headers=dict(http_headers(str(values[OTLP_HEADERS] or ""))),
        interval_s=interval_ms / 1000,
    )
