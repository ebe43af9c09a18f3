"""
The internal topics of a flow (behaviours 1.2).

Names, counts and policies are those of Java's MirrorMaker, so that both find each other's; control
and progress are our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from mm2.config.flow_config import FlowConfig
from mm2.config.offset_topics import offset_runs_topic, offset_syncs_topic
from mm2.core.model import HEARTBEAT_CONNECTOR, SOURCE_CONNECTOR
from mm2.core.policy import ReplicationPolicy
from mm2.errors import Mm2Error
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import TOO_FEW_BROKERS, Refused, needs_more_brokers
from mm2.kafka.flow_clusters import FlowClusters

_COMPACT: Final = {"cleanup.policy": "compact"}
_OFTEN_COMPACTED: Final = {**_COMPACT, "segment.ms": "3600000", "segment.bytes": str(16 << 20)}
"""
Brokers compact finished segments only, by default a week or a gibibyte old.

Positions are written every second and read whole when a task starts, so that would be too much.
"""

_MOST_OF_A_DEAD_LETTER: Final = 100 << 20
"""What is too large for its remote topic must not be so here; brokers take no larger requests."""

_PROGRESS_KEPT_MS: Final = 3_600_000

_OF_CONFIGS: Final = "config.storage.replication.factor"
_OF_STATUSES: Final = "status.storage.replication.factor"
_OF_OFFSET_SYNCS: Final = "offset-syncs.topic.replication.factor"


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalTopic:
    """
    A topic that mm2 needs for itself.

    Attributes:
        name: as Java names it.
        is_on_source: whether it is on the source cluster and not on the target.
        replication_factor: -1 leaves it to the brokers.
        replication_key: the key that says so.
    """

    name: str
    is_on_source: bool = False
    partitions: int = 1
    replication_factor: int
    replication_key: str
    configs: Mapping[str, str] = field(default_factory=lambda: dict(_COMPACT))


def internal_topics(config: FlowConfig, policy: ReplicationPolicy) -> list[InternalTopic]:
    """All internal topics that the flow's connectors use, as configured."""
    topics = [*_worker_topics(config), *_connector_topics(config, policy)]
    # What a Connect worker keeps for itself has no name here: it is not on every target.
    return [topic for topic in topics if topic.name]


def _worker_topics(config: FlowConfig) -> Iterator[InternalTopic]:
    """What a node keeps for the flow: Connect's topics, and our own."""
    worker = config.herder
    yield InternalTopic(
        name=worker.config_topic,
        replication_factor=worker.config_replication_factor,
        replication_key=_OF_CONFIGS,
    )
    yield InternalTopic(
        name=worker.status_topic,
        partitions=worker.status_partitions,
        replication_factor=worker.status_replication_factor,
        replication_key=_OF_STATUSES,
    )
    yield InternalTopic(
        name=worker.names.control_topic,
        replication_factor=worker.config_replication_factor,
        replication_key=_OF_CONFIGS,
        configs=_OFTEN_COMPACTED,
    )
    yield InternalTopic(
        name=worker.names.progress_topic,
        replication_factor=worker.status_replication_factor,
        replication_key=_OF_STATUSES,
        configs={
            "cleanup.policy": "delete",
            "retention.ms": str(_PROGRESS_KEPT_MS),
            "segment.ms": str(_PROGRESS_KEPT_MS // 4),
        },
    )
    if SOURCE_CONNECTOR in config.parts:
        yield InternalTopic(
            name=worker.offsets_topic,
            partitions=worker.offsets_partitions,
            replication_factor=worker.offsets_replication_factor,
            replication_key="offset.storage.replication.factor",
            configs=_OFTEN_COMPACTED,
        )


def _connector_topics(config: FlowConfig, policy: ReplicationPolicy) -> Iterator[InternalTopic]:
    source, errors = config.source, config.source.errors
    if HEARTBEAT_CONNECTOR in config.parts:
        yield InternalTopic(
            name=policy.heartbeats_topic(),
            replication_factor=config.heartbeat.heartbeats_replication_factor,
            replication_key="heartbeats.topic.replication.factor",
            configs=_compacted(config.heartbeat.heartbeats_retention),
        )
    if config.checkpoint.runs or config.emits_checkpoints:
        yield InternalTopic(
            name=policy.checkpoints_topic(config.flow.source),
            replication_factor=config.checkpoint.checkpoints_replication_factor,
            replication_key="checkpoints.topic.replication.factor",
            configs=_compacted(config.checkpoint.checkpoints_retention),
        )
    if source.runs and source.emit_offset_syncs:
        yield _offset_syncs(config, policy)
        if source.emit_offset_runs:
            yield _offset_runs(config)
    if errors.dead_letter_topic is not None:
        yield InternalTopic(
            name=errors.dead_letter_topic,
            replication_factor=errors.dead_letter_replication_factor,
            replication_key="errors.deadletterqueue.topic.replication.factor",
            configs={"max.message.bytes": str(_MOST_OF_A_DEAD_LETTER)},
        )


def _offset_syncs(config: FlowConfig, policy: ReplicationPolicy) -> InternalTopic:
    return InternalTopic(
        name=offset_syncs_topic(config, policy),
        is_on_source=config.source.offset_syncs_location == "source",
        replication_factor=config.source.offset_syncs_replication_factor,
        replication_key=_OF_OFFSET_SYNCS,
        configs=_compacted(config.source.offset_syncs_retention),
    )


def _offset_runs(config: FlowConfig) -> InternalTopic:
    return InternalTopic(
        name=offset_runs_topic(config),
        is_on_source=config.source.offset_syncs_location == "source",
        replication_factor=config.source.offset_syncs_replication_factor,
        replication_key=_OF_OFFSET_SYNCS,
        configs=_OFTEN_COMPACTED,
    )


def _compacted(retention: timedelta | None) -> dict[str, str]:
    """
    Compacted; with a retention (``*.topic.retention.ms`` of KIP-382) for what was not replaced.

    Java 4.3 has no such keys, and compacts only.
    """
    if retention is None:
        return dict(_COMPACT)
    kept_ms = round(retention.total_seconds() * 1000)
    return {"cleanup.policy": "compact,delete", "retention.ms": str(kept_ms)}


async def create_internal_topics(
    config: FlowConfig, policy: ReplicationPolicy, clusters: FlowClusters, *, on_source: bool
) -> None:
    """
    Creates what is missing on one of the clusters; topics that exist are left as they are.

    Raises:
        Mm2Error: what has failed, after all have been tried: those that need more brokers than
            there are together, with the keys to set; else the first.
    """
    failures: list[tuple[InternalTopic, Mm2Error]] = []
    admin: Admin = clusters.source if on_source else clusters.target
    for topic in internal_topics(config, policy):
        if topic.is_on_source != on_source:
            continue
        try:
            await admin.create_internal_topic(
                topic.name,
                partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                configs=topic.configs,
            )
        except Mm2Error as error:
            failures.append((topic, error))
    if failures:
        raise _together(admin.alias, failures)


def _together(alias: str, failures: Sequence[tuple[InternalTopic, Mm2Error]]) -> Mm2Error:
    others = [error for _, error in failures if not needs_more_brokers(error)]
    if others:
        return others[0]
    topics = ", ".join(topic.name for topic, _ in failures)
    keys = ", ".join(dict.fromkeys(topic.replication_key for topic, _ in failures))
    return Refused(
        alias,
        f"it has fewer brokers than there are to be replicas of {topics}: set {keys} to their"
        " number at most",
        TOO_FEW_BROKERS,
    )
