"""
When the small flows do not run at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from flows.checkpoint.checkpoint_flow import run_checkpoints
from flows.heartbeat.heartbeat_flow import run_heartbeats
from mm2.core.policy import build_policy
from mm2.herder.topics.internal_topics import internal_topics
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import FlowClusters
from tests.support.configs import config_of

NOWHERE = {"bootstrap.servers": "127.0.0.1:1"}


@pytest.fixture
def clusters() -> FlowClusters:
    """Clients that would connect at their first call."""
    return FlowClusters(Admin("A", NOWHERE), Admin("B", NOWHERE))


@pytest.mark.parametrize(
    "settings",
    [
        {"emit.heartbeats.enabled": "false"},
        {"A->B.enabled": "true", "emit.heartbeats.interval.seconds": "-1"},
    ],
)
async def test_no_heartbeats_when_they_are_off(
    tmp_path: Path, clusters: FlowClusters, settings: Mapping[str, str]
) -> None:
    """C310."""
    await run_heartbeats(config_of(settings), clusters)


def test_the_heartbeats_topic_is_made_even_if_none_are_to_be_written(tmp_path: Path) -> None:
    """C312."""
    config = config_of({"emit.heartbeats.enabled": "false", "A->B.enabled": "true"})
    topics = internal_topics(config, build_policy(config.source.properties))
    (topic,) = (each for each in topics if each.name == "heartbeats")
    assert (topic.is_on_source, topic.partitions) == (False, 1)
    assert topic.configs == {"cleanup.policy": "compact"}


@pytest.mark.parametrize(
    "settings",
    [
        {"A->B.enabled": "false"},
        {"A->B.enabled": "true", "emit.checkpoints.interval.seconds": "-1"},
    ],
)
async def test_no_checkpoints_when_they_or_the_flow_are_off(
    tmp_path: Path, clusters: FlowClusters, settings: Mapping[str, str]
) -> None:
    """C266, C268, C474."""
    await run_checkpoints(config_of(settings), clusters)


async def test_a_refused_connector_says_why_and_ends(
    tmp_path: Path, clusters: FlowClusters
) -> None:
    """C106, C112."""
    settings = {"A->B.enabled": "true", "A->B.emit.offset-syncs.enabled": "false"}
    with capture_logs() as events:
        await run_checkpoints(config_of(settings), clusters)
    ((event, connector, reason),) = [(e["event"], e["connector"], e["reason"]) for e in events]
    assert (event, connector) == ("connector.refused", "MirrorCheckpointConnector")
    assert "emit.offset-syncs.enabled" in reason
