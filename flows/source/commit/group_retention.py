"""
How long the target remembers positions that are offsets of a group.

Offsets of a group without members expire ``offsets.retention.minutes`` after their commit: a week,
unless the target says otherwise. Those of idle partitions are committed anew well before that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import structlog

from mm2.errors import ClusterError
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import BundleSpec

log = structlog.get_logger()

_KEY: Final = "offsets.retention.minutes"
_TIMES: Final = 4
"""Commits within the retention: some may be late, or brokers may be away."""


async def with_refresh(spec: BundleSpec, target: WireClient) -> BundleSpec:
    """
    The bundle, with the group's offsets committed often enough for what the target keeps.

    Any broker is asked, for they should all keep them as long. A target that does not tell, because
    we may not describe its settings, is taken to keep them for a week.

    Args:
        spec: the bundle.
        target: a connected client.
    """
    exactly_once = spec.exactly_once
    if exactly_once is None:
        return spec
    try:
        minutes = (await target.broker_settings((_KEY,))).get(_KEY)
    except ClusterError as error:
        log.debug("source.retention_unknown", key=_KEY, error=str(error))
        return spec
    if minutes is None:
        return spec
    refresh_s = min(exactly_once.refresh_s, int(minutes) * 60 / _TIMES)
    return replace(spec, exactly_once=replace(exactly_once, refresh_s=refresh_s))
