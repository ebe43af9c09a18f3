"""Builds a BundleSpec from a FlowConfig."""

from __future__ import annotations

from mm2.config.flow_config import FlowConfig, data_producer
from mm2.config.offset_topics import offset_runs_topic
from mm2.config.text.expressions import RESOLVED
from mm2.core.model import ClusterAlias
from mm2.core.policy import build_policy
from mm2.core.topics.own_topics import OwnTopics
from mm2.herder.bundles.task_fencing import exactly_once_spec, transactional_id
from mm2.protocol.bundle_spec import BundleSpec, OffsetSyncSpec
from mm2.telemetry.levels import CHOSEN


def bundle_spec(config: FlowConfig, index: int, epoch: int, syncs_topic: str) -> BundleSpec:
    """What the task of bundle ``index`` needs to know."""
    source, herder = config.source, config.herder
    consumer = source.source_consumer("replication-consumer", index)
    producer = data_producer(config, index).properties
    at = config.flow.source if source.offset_syncs_location == "source" else config.flow.target
    syncs = OffsetSyncSpec(
        cluster=at,
        properties=source.offset_syncs_producer(index),
        topic=syncs_topic,
        lag_max=source.offset_lag_max,
        runs_topic=offset_runs_topic(config) if source.emit_offset_runs else None,
    )
    return BundleSpec(
        flow=config.flow,
        index=index,
        epoch=epoch,
        source=consumer,
        target=producer,
        transactional_id=transactional_id(config, index),
        offsets_topic=herder.offsets_topic,
        control_topic=herder.names.control_topic,
        progress_topic=herder.names.progress_topic,
        connector=herder.names.connector,
        byte_rate_limit=source.byte_rate_limit,
        flush_interval_s=herder.offset_flush_interval.total_seconds(),
        drain_within_s=herder.shutdown_timeout.total_seconds(),
        data=config.data,
        starts=source.starts,
        most_plain=source.most_plain,
        gaps=source.gaps,
        offset_syncs=syncs if source.emit_offset_syncs else None,
        errors=source.errors,
        transforms=source.transforms,
        own_topics=_own_topics(config),
        exactly_once=exactly_once_spec(config, producer),
        log_levels=CHOSEN.levels,
        hidden=RESOLVED.within(
            [
                *consumer.values(),
                *producer.values(),
                *syncs.properties.values(),
                source.transforms.handler_args,
                source.transforms.function_args,
                *source.transforms.sql.values(),
                *source.transforms.connect.values(),
            ]
        ),
    )


def _own_topics(config: FlowConfig) -> OwnTopics:
    """As policy and worker name them; of other flows, those that these names would be, too."""
    policy, herder = build_policy(config.source.properties), config.herder
    flow = config.flow
    names = {
        herder.config_topic,
        herder.status_topic,
        herder.offsets_topic,
        herder.names.control_topic,
        herder.names.progress_topic,
        *config.worker_topics,
        config.source.errors.dead_letter_topic or "",
    }
    for alias in {flow.source, flow.target, *map(ClusterAlias, config.source.transforms.clusters)}:
        names |= {policy.checkpoints_topic(alias), policy.offset_syncs_topic(alias)}
    return OwnTopics(heartbeats=policy.heartbeats_topic(), names=frozenset(names - {""}))
