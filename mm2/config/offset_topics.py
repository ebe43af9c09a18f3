"""The source topics that a flow mirrors, and the topics of its offset syncs and offset runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from mm2.config.flow_config import FlowConfig
from mm2.core.filters import build_topic_filter
from mm2.core.model import TopicName
from mm2.core.policy import ReplicationPolicy, build_policy
from mm2.core.topics.cycle_detection import Refusal, replication_refusal, should_replicate_topic
from mm2.core.translation.run_codec import runs_topic

_N = TypeVar("_N", bound=str)


def offset_syncs_topic(config: FlowConfig, policy: ReplicationPolicy) -> str:
    """The offset-syncs topic is named after the cluster that it is not on (C101)."""
    is_on_source = config.source.offset_syncs_location == "source"
    return policy.offset_syncs_topic(config.flow.target if is_on_source else config.flow.source)


def offset_runs_topic(config: FlowConfig) -> str:
    """The topic of exact runs is where the offset syncs are, and named as they are."""
    is_on_source = config.source.offset_syncs_location == "source"
    return runs_topic(config.flow.target if is_on_source else config.flow.source)


def accepted_topics(config: FlowConfig) -> Callable[[TopicName], bool]:
    """Says of a source topic whether the flow mirrors it (C152)."""
    policy = build_policy(config.source.properties)
    topic_filter = build_topic_filter(config.source.properties)
    return partial(
        should_replicate_topic,
        flow=config.flow,
        policy=policy,
        topic_filter=topic_filter,
        heartbeats_replication=config.source.heartbeats_replication,
    )


def topic_refusals(config: FlowConfig, topics: Iterable[TopicName]) -> dict[TopicName, str]:
    """
    Why topics of the source are not mirrored, for people; those that are have no entry.

    Patterns of users may take long: not to be called in an event loop.
    """
    policy = build_policy(config.source.properties)
    topic_filter = build_topic_filter(config.source.properties)
    found = {}
    for topic in topics:
        refusal = replication_refusal(
            topic,
            flow=config.flow,
            policy=policy,
            topic_filter=topic_filter,
            heartbeats_replication=config.source.heartbeats_replication,
        )
        if refusal is not None:
            is_filtered = refusal is Refusal.FILTER
            found[topic] = topic_filter.refusal(topic) if is_filtered else refusal.value
    return found


async def accepted(accepts: Callable[[_N], bool], names: Iterable[_N]) -> set[_N]:
    """
    The names that a filter accepts.

    Patterns of users may take long for names that are new. Leases are renewed meanwhile.
    """
    return set(await asyncio.to_thread(lambda: [*filter(accepts, names)]))
