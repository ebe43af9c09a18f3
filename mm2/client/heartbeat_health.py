"""Judges the flows of a file by their heartbeats, wherever their herders run."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from typing import Final

from mm2.client.mirror_client import WINDOW, MirrorClient
from mm2.client.query_clusters import ClusterAnswers, query_each
from mm2.clock import now_ms
from mm2.config.flow_config import FlowConfig
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.offset_topics import accepted_topics
from mm2.core.heartbeat_hops import FlowHealth, HeartbeatPath, expected_paths, flow_health
from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.core.policy import build_policy
from mm2.errors import ClusterError

_LEAST_AGE_MS: Final = 30_000
_INTERVALS: Final = 3


async def check_heartbeats(
    maker: MirrorMakerConfig,
    configs: Collection[FlowConfig],
    clusters: Iterable[ClusterAlias],
    *,
    max_age_ms: int | None = None,
) -> tuple[list[FlowHealth], dict[ClusterAlias, ClusterError]]:
    """
    Reads the heartbeats on some clusters, and judges them.

    Args:
        max_age_ms: a flow whose last heartbeat is older is not alive; by default half a minute, or
            three intervals if they are longer.

    Returns:
        The traces that were found or are expected; and why clusters could not be asked.

    Raises:
        ConfigErrors: the file has mistakes about a cluster.
    """
    asked = list(clusters)
    expected = [path for path in paths_of(configs) if path.here in asked]
    answers: ClusterAnswers[dict[HeartbeatPath, int]] = await query_each(
        maker, asked, partial(_read_paths, expected)
    )
    found = flow_health(
        {path: at for seen in answers.given.values() for path, at in seen.items()},
        expected,
        now_ms=now_ms(),
        max_age_ms=_patience_ms(configs) if max_age_ms is None else max_age_ms,
        unreachable=answers.failures,
    )
    return found, answers.failures


def paths_of(configs: Collection[FlowConfig]) -> set[HeartbeatPath]:
    """Where the heartbeats of flows should be seen."""
    return expected_paths(
        (c.flow for c in configs if c.heartbeat.runs and c.heartbeat.emit_heartbeats is not None),
        (c.flow for c in configs if c.source.runs and _copies_heartbeats(c)),
    )


def _copies_heartbeats(config: FlowConfig) -> bool:
    policy = build_policy(config.source.properties)
    return accepted_topics(config)(policy.heartbeats_topic())


def _patience_ms(configs: Iterable[FlowConfig]) -> int:
    intervals = (config.heartbeat.emit_heartbeats for config in configs)
    longest = max((each.total_seconds() for each in intervals if each), default=0.0)
    return max(_LEAST_AGE_MS, round(_INTERVALS * longest * 1000))


async def _read_paths(
    expected: Collection[HeartbeatPath], here: ClusterAlias, client: MirrorClient
) -> dict[HeartbeatPath, int]:
    """Old heartbeats are read only where some are expected: the topics may be long."""
    found: dict[HeartbeatPath, int] = {}
    paths = {path for path in expected if path.here == here}
    for window in (WINDOW, None):
        found = {
            HeartbeatPath(
                way=(*reversed(seen.path), here),
                flow=SourceAndTarget(seen.heartbeat.source, seen.heartbeat.target),
            ): seen.heartbeat.timestamp_ms
            for seen in await client.heartbeats(window)
        }
        if paths <= found.keys():
            break
    return found
