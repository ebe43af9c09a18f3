"""
Fills the settings of a flow from parsed keys: names on the left are ours, on the right Java's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypedDict

from mm2.config.checks.impossible_values import impossible_values
from mm2.config.connector_settings import (
    CheckpointSettings,
    ErrorSettings,
    HeartbeatSettings,
    SourceSettings,
)
from mm2.config.flow_settings import HerderSettings
from mm2.config.keys.definition import Definition, Value, parse_all
from mm2.config.keys.key_table import keys_of
from mm2.config.keys.keys_mm2 import OWN_KEYS
from mm2.config.keys.keys_worker import DEFAULT_SHUTDOWN_TIMEOUT_MS
from mm2.core.flow_names import FlowNames
from mm2.core.model import SourceAndTarget
from mm2.core.positions.start_rules import RULES_KEY, parse_rules
from mm2.errors import ConfigError

DEFAULT_FLUSH_INTERVAL: Final = timedelta(seconds=1)
"""Time between two commits of positions when the user is silent; Java's is 60 s."""

_DEFAULT_FACTOR: Final = -1
"""-1: use the default replication factor."""

_LONGEST: Final = timedelta.max // timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The values of one definition's keys, and the texts that they were read from."""

    values: Mapping[str, Value]
    properties: Mapping[str, str]

    def boolean(self, name: str) -> bool:
        """A boolean."""
        return self.values[name] is True

    def integer(self, name: str) -> int:
        """A whole number."""
        value = self.values[name]
        if not isinstance(value, int):
            raise TypeError(f"{name} is {value!r}")
        return value

    def text(self, name: str) -> str:
        """A text; empty if there is none."""
        value = self.values[name]
        return "" if value is None else str(value)

    def items(self, name: str) -> tuple[str, ...]:
        """A list."""
        value = self.values[name]
        return value if isinstance(value, tuple) else ()

    def milliseconds(self, name: str) -> timedelta:
        """A duration in ms."""
        return _seconds(self.integer(name) // 1000) + timedelta(
            milliseconds=self.integer(name) % 1000
        )

    def retention(self, name: str) -> timedelta | None:
        """A duration in ms that may be absent."""
        return None if self.values[name] is None else self.milliseconds(name)

    def interval_of(self, name: str) -> timedelta | None:
        """The interval of a job; None if it is switched off or the interval negative (C105)."""
        return (
            self.interval(f"{name}.interval.seconds") if self.boolean(f"{name}.enabled") else None
        )

    def interval(self, name: str) -> timedelta | None:
        """A duration in seconds; None if it is negative."""
        seconds = self.integer(name)
        return _seconds(seconds) if seconds >= 0 else None


def parse_connector(
    definition: Definition, properties: Mapping[str, str]
) -> tuple[dict[str, Value], list[ConfigError]]:
    """Reads all keys of one connector, and our own that belong to it."""
    keys = dict(keys_of(definition)) | {
        key.name: key for key in OWN_KEYS if definition in key.definitions
    }
    if definition is Definition.CHECKPOINT:
        # Not in Java's definition, but its topic filter reads them all the same (C097).
        keys |= {name: keys_of(Definition.SOURCE)[name] for name in ("topics", "topics.exclude")}
    values, mistakes = parse_all(keys, properties)
    return values, [*mistakes, *impossible_values(values, properties)]


def read_source(flow: SourceAndTarget, parsed: Parsed) -> SourceSettings:
    """Settings of the source connector."""
    return SourceSettings(
        **_common(flow, parsed, source_refusals(parsed.properties)),
        topics=parsed.items("topics"),
        topics_exclude=parsed.items("topics.exclude"),
        refresh_topics=parsed.interval_of("refresh.topics"),
        sync_topic_configs=parsed.interval_of("sync.topic.configs"),
        sync_topic_acls=parsed.interval_of("sync.topic.acls"),
        config_properties_exclude=parsed.items("config.properties.exclude"),
        use_defaults_from=parsed.properties.get("use.defaults.from", "target"),
        replication_factor=parsed.integer("replication.factor"),
        replication_factor_of_source=parsed.integer("replication.factor") == _DEFAULT_FACTOR
        and parsed.text("replication.factor.default.from") == "source",
        starts=parse_rules(parsed.items(RULES_KEY)),
        acls_prefixed=parsed.boolean("sync.topic.acls.prefixed.enabled"),
        acls_same_name_all=parsed.text("sync.topic.acls.same.name") == "all",
        acls_deleted=parsed.boolean("sync.topic.acls.delete.enabled"),
        deletes_topics=parsed.text("source.topic.deleted.policy") == "delete",
        gaps_fail=parsed.text("source.gap.policy") == "fail",
        hanging_transaction=parsed.milliseconds("source.hanging.transaction.timeout.ms"),
        remote_gaps_fail=parsed.text("target.topic.deleted.policy") == "fail",
        most_plain=parsed.integer("decompressed.batch.max.bytes"),
        offset_syncs_location=parsed.text("offset-syncs.topic.location"),
        offset_syncs_replication_factor=parsed.integer("offset-syncs.topic.replication.factor"),
        offset_syncs_retention=parsed.retention("offset.syncs.topic.retention.ms"),
        offset_lag_max=parsed.integer("offset.lag.max"),
        emit_offset_syncs=parsed.boolean("emit.offset-syncs.enabled"),
        emit_offset_runs=parsed.boolean("emit.offset-syncs.enabled")
        and parsed.boolean("emit.offset-runs.enabled"),
        heartbeats_replication=parsed.boolean("heartbeats.replication.enabled"),
        byte_rate_limit=parsed.integer("flow.byte.rate.limit"),
        assignment_strategy=parsed.text("assignment.strategy"),
        assignment_balance=parsed.interval("assignment.balance.interval.seconds"),
        errors=_errors(parsed),
    )


def _errors(parsed: Parsed) -> ErrorSettings:
    """What becomes of records that cannot be mirrored."""
    for_ever = parsed.integer("errors.retry.timeout") < 0
    return ErrorSettings(
        tolerates=parsed.text("errors.tolerance") == "all",
        dead_letter_topic=parsed.text("errors.deadletterqueue.topic.name").strip() or None,
        dead_letter_replication_factor=parsed.integer(
            "errors.deadletterqueue.topic.replication.factor"
        ),
        context_headers=parsed.boolean("errors.deadletterqueue.context.headers.enable"),
        logs=parsed.boolean("errors.log.enable"),
        logs_messages=parsed.boolean("errors.log.include.messages"),
        retry_timeout=None if for_ever else parsed.milliseconds("errors.retry.timeout"),
        retry_delay=parsed.milliseconds("errors.retry.delay.max.ms"),
    )


def read_checkpoint(flow: SourceAndTarget, parsed: Parsed) -> CheckpointSettings:
    """Settings of the checkpoint connector."""
    return CheckpointSettings(
        **_common(flow, parsed, checkpoint_refusals(parsed.properties)),
        groups=parsed.items("groups"),
        groups_exclude=parsed.items("groups.exclude"),
        topics=parsed.items("topics"),
        topics_exclude=parsed.items("topics.exclude"),
        refresh_groups=parsed.interval_of("refresh.groups"),
        emit_checkpoints=parsed.interval_of("emit.checkpoints"),
        sync_group_offsets=parsed.interval_of("sync.group.offsets"),
        checkpoints_replication_factor=parsed.integer("checkpoints.topic.replication.factor"),
        checkpoints_retention=parsed.retention("checkpoints.topic.retention.ms"),
        offset_syncs_location=parsed.text("offset-syncs.topic.location"),
        takes_back=parsed.text("checkpoints.deleted.groups.policy") == "tombstone",
        follows_commits=parsed.boolean("emit.checkpoints.follow.commits.enabled"),
        reverses=parsed.boolean("reverse.checkpointing.enabled"),
    )


def read_heartbeat(flow: SourceAndTarget, parsed: Parsed) -> HeartbeatSettings:
    """Settings of the heartbeat connector."""
    return HeartbeatSettings(
        **_common(flow, parsed, ()),
        emit_heartbeats=parsed.interval_of("emit.heartbeats"),
        heartbeats_replication_factor=parsed.integer("heartbeats.topic.replication.factor"),
        heartbeats_retention=parsed.retention("heartbeats.topic.retention.ms"),
    )


def read_herder(parsed: Parsed, names: FlowNames) -> HerderSettings:
    """Settings of the worker, and the names that its flow uses."""
    flush = "offset.flush.interval.ms"
    silent = flush not in parsed.properties
    return HerderSettings(
        group_id=parsed.text("group.id"),
        names=names,
        config_topic=parsed.text("config.storage.topic"),
        offsets_topic=parsed.text("offset.storage.topic"),
        status_topic=parsed.text("status.storage.topic"),
        config_replication_factor=parsed.integer("config.storage.replication.factor"),
        offsets_replication_factor=parsed.integer("offset.storage.replication.factor"),
        status_replication_factor=parsed.integer("status.storage.replication.factor"),
        offsets_partitions=parsed.integer("offset.storage.partitions"),
        status_partitions=parsed.integer("status.storage.partitions"),
        offset_flush_interval=DEFAULT_FLUSH_INTERVAL if silent else parsed.milliseconds(flush),
        shutdown_timeout=read_shutdown_timeout(parsed),
        exactly_once=parsed.text("exactly.once.source.support").lower(),
        properties=parsed.properties,
    )


def read_shutdown_timeout(worker: Parsed) -> timedelta:
    """How long a worker's tasks may take to drain."""
    key = "task.shutdown.graceful.timeout.ms"
    if key not in worker.properties:
        return timedelta(milliseconds=DEFAULT_SHUTDOWN_TIMEOUT_MS)
    return max(timedelta(), worker.milliseconds(key))


def source_refusals(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Why Java would not create the source connector (C111); compares texts, as Java does."""
    silent = properties.get("emit.offset-syncs.enabled", "true") != "false"
    about_syncs = [
        key for key in properties if key.startswith(("offset-syncs-", "offset-syncs.topic."))
    ]
    if silent or not about_syncs:
        return ()
    contradicted = min(about_syncs)
    return (f"emit.offset-syncs.enabled is false but {contradicted} is given: remove one of them",)


def checkpoint_refusals(properties: Mapping[str, str]) -> tuple[str, ...]:
    """
    Why Java would not create the checkpoint connector (C106-C109); compares texts, as Java does.
    """
    if properties.get("enabled", "true") == "false":
        return ()
    return tuple(
        f"checkpoints need {key}, which is false"
        for key in ("emit.checkpoints.enabled", "emit.offset-syncs.enabled")
        if properties.get(key, "true") == "false"
    )


class _Common(TypedDict):
    flow: SourceAndTarget
    enabled: bool
    refusals: tuple[str, ...]
    tasks_max: int
    admin_timeout: timedelta
    properties: Mapping[str, str]


def _common(flow: SourceAndTarget, parsed: Parsed, refusals: tuple[str, ...]) -> _Common:
    return {
        "flow": flow,
        "enabled": parsed.boolean("enabled"),
        "refusals": refusals,
        "tasks_max": parsed.integer("tasks.max"),
        "admin_timeout": parsed.milliseconds("admin.timeout.ms"),
        "properties": parsed.properties,
    }


def _seconds(seconds: int) -> timedelta:
    """A duration, clamped to Python's range."""
    return timedelta(seconds=max(-_LONGEST, min(seconds, _LONGEST - 1)))
