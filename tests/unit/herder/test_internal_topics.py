"""Which internal topics a flow has, and on which cluster."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from structlog.testing import capture_logs

from mm2.config.flow_config import FlowConfig
from mm2.core.policy import build_policy
from mm2.herder.topics.internal_topics import create_internal_topics, internal_topics
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import Refused
from mm2.kafka.flow_clusters import FlowClusters
from tests.support.configs import config_of

_ALWAYS = {
    "mm2-configs.A.internal",
    "mm2-offsets.A.internal",
    "mm2-status.A.internal",
    "mm2-control.A.internal",
    "mm2-progress.A.internal",
    "heartbeats",
}


def _config(**settings: str) -> FlowConfig:
    return config_of({f"A->B.{key}": value for key, value in settings.items()})


def _topics(**settings: str) -> tuple[set[str], set[str]]:
    """Names on the source and on the target."""
    config = _config(**settings)
    topics = internal_topics(config, build_policy(config.source.properties))
    on_source = {topic.name for topic in topics if topic.is_on_source}
    return on_source, {topic.name for topic in topics} - on_source


@pytest.mark.parametrize(
    ("location", "on_source", "on_target"),
    [
        ("source", {"mm2-offset-syncs.B.internal", "mm2-offset-runs.B.internal"}, set()),
        ("target", set(), {"mm2-offset-syncs.A.internal", "mm2-offset-runs.A.internal"}),
    ],
)
def test_offset_syncs_are_on_the_cluster_that_they_are_wanted_on(
    location: str, on_source: set[str], on_target: set[str]
) -> None:
    """C150: named after the other cluster, and so are our exact runs."""
    found = _topics(enabled="true", **{"offset-syncs.topic.location": location})
    assert found == (on_source, {*_ALWAYS, "A.checkpoints.internal", *on_target})


def test_without_offset_syncs_there_is_no_topic_for_them_nor_for_checkpoints() -> None:
    """C150, C392."""
    found = _topics(enabled="true", **{"emit.offset-syncs.enabled": "false"})
    assert found == (set(), _ALWAYS)


class _Cluster:
    """Refuses to make some topics."""

    alias = "B"

    def __init__(self, *refused: str, code: str = "POLICY_VIOLATION") -> None:
        self.code = code
        self.refused = refused
        self.made: list[str] = []

    async def create_internal_topic(self, name: str, **_: object) -> bool:
        if name in self.refused:
            raise Refused("B", f"{name}: {self.code}", self.code)
        self.made.append(name)
        return True


def test_a_topic_that_cannot_be_made_is_an_error_after_the_others_were_made() -> None:
    """C330, C433: Java's connectors start without the topic, and are shown as running."""
    config = _config(enabled="true")
    target = _Cluster("mm2-offsets.A.internal")
    admin = cast("Admin", target)
    making = create_internal_topics(
        config, build_policy({}), FlowClusters(admin, admin), on_source=False
    )
    with pytest.raises(Refused, match=r"mm2-offsets\.A\.internal"):
        asyncio.run(making)
    assert {*target.made} == {*_ALWAYS, "A.checkpoints.internal"} - {"mm2-offsets.A.internal"}


def test_topics_that_need_more_brokers_are_one_error_that_names_the_keys_to_set() -> None:
    """There was a line for each topic, at each attempt, and none named a key."""
    config = _config(enabled="true")
    target = _Cluster("mm2-offsets.A.internal", "heartbeats", code="INVALID_REPLICATION_FACTOR")
    admin = cast("Admin", target)
    clusters = FlowClusters(admin, admin)
    with capture_logs() as logs, pytest.raises(Refused) as failed:
        asyncio.run(create_internal_topics(config, build_policy({}), clusters, on_source=False))
    assert str(failed.value) == (
        "cluster B: it has fewer brokers than there are to be replicas of mm2-offsets.A.internal,"
        " heartbeats: set offset.storage.replication.factor, heartbeats.topic.replication.factor to"
        " their number at most"
    )
    assert logs == []


def test_a_flow_that_is_off_needs_no_topics_but_those_of_herder_and_heartbeats() -> None:
    """C147."""
    assert _topics(enabled="false") == (set(), _ALWAYS)
