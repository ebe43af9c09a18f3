"""Fills the settings of a flow: each field from the row that names it, few from several keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta

from mm2.config.checks.impossible_values import impossible_values
from mm2.config.connector_settings import (
    CheckpointSettings,
    ErrorSettings,
    GapSettings,
    HeartbeatSettings,
    SourceSettings,
    TransformSettings,
)
from mm2.config.flow_settings import HerderSettings
from mm2.config.keys.definition import Definition, Fields, field_values, parse_all
from mm2.config.keys.key_table import TABLE, keys_of
from mm2.config.keys.key_types import Value
from mm2.config.keys.keys_mm2 import OWN_KEYS
from mm2.config.layers import Setting
from mm2.config.text.redact import is_for_code
from mm2.config.transforms.chain_reading import names_sql, transform_mistakes, transform_properties
from mm2.core.flow_names import FlowNames
from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """
    The values of one definition's keys, and the texts that they were read from.

    Attributes:
        provided: keys of what code reads whose values are from providers, in part at least.
    """

    values: Mapping[str, Value]
    properties: Mapping[str, str]
    provided: tuple[str, ...] = ()

    def integer(self, name: str) -> int:
        """
        A whole number.

        Raises:
            TypeError: the key has no value.
        """
        value = self.values[name]
        if not isinstance(value, int):
            raise TypeError(f"{name} is {value!r}")
        return value

    def text(self, name: str) -> str:
        """A text; empty if there is none."""
        value = self.values[name]
        return "" if value is None else str(value)

    def fields_of(self, kind: type) -> Fields:
        """The fields of settings of that kind that rows name."""
        names = {field.name for field in fields(kind)}
        keys = {name: key for name in self.values if (key := TABLE[name]).field in names}
        ours = {
            name: key.parse(key.mm2_default)
            for name, key in keys.items()
            if key.mm2_default is not None and name not in self.properties
        }
        return field_values(keys, {**self.values, **ours})


def provided_to_code(
    settings: Mapping[str, Setting], properties: Mapping[str, str]
) -> tuple[str, ...]:
    """The keys of SQL and of code's arguments that providers had a part in; sorted."""
    written = ((key, each.value) for key, each in settings.items() if is_for_code(key))
    return tuple(sorted(key for key, value in written if properties.get(key) != value))


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
    mistakes += impossible_values(values, properties)
    return values, [*mistakes, *transform_mistakes(properties)]


def read_source(
    flow: SourceAndTarget, parsed: Parsed, clusters: tuple[ClusterAlias, ...] = ()
) -> SourceSettings:
    """
    Settings of the source connector.

    Args:
        clusters: all that the file or the connector names.
    """
    filled = parsed.fields_of(SourceSettings)
    filled["emit_offset_runs"] &= filled["emit_offset_syncs"]
    filled["replication_factor_of_source"] &= filled["replication_factor"] == -1
    errors = ErrorSettings(**parsed.fields_of(ErrorSettings))
    return SourceSettings(
        **filled,
        flow=flow,
        refusals=source_refusals(parsed.properties),
        properties=parsed.properties,
        errors=errors if errors.tolerates else replace(errors, dead_letter_topic=None),
        gaps=GapSettings(**parsed.fields_of(GapSettings)),
        transforms=read_transform_settings(parsed, clusters),
    )


def read_transform_settings(
    parsed: Parsed, clusters: tuple[ClusterAlias, ...]
) -> TransformSettings:
    """What a source connector's records become."""
    fields = parsed.fields_of(TransformSettings)
    if names_sql(parsed.properties):
        fields = {name: value for name, value in fields.items() if not name.startswith("sql_")}
    return TransformSettings(
        **fields,
        connect=transform_properties(parsed.properties),
        clusters=clusters,
        provided=parsed.provided,
    )


def read_checkpoint(flow: SourceAndTarget, parsed: Parsed) -> CheckpointSettings:
    """Settings of the checkpoint connector."""
    return CheckpointSettings(
        **parsed.fields_of(CheckpointSettings),
        flow=flow,
        refusals=checkpoint_refusals(parsed.properties),
        properties=parsed.properties,
    )


def read_heartbeat(flow: SourceAndTarget, parsed: Parsed) -> HeartbeatSettings:
    """Settings of the heartbeat connector."""
    filled = parsed.fields_of(HeartbeatSettings)
    return HeartbeatSettings(**filled, flow=flow, properties=parsed.properties)


def read_herder(parsed: Parsed, names: FlowNames) -> HerderSettings:
    """Settings of the worker, and the names that its flow uses."""
    filled = parsed.fields_of(HerderSettings)
    return HerderSettings(**filled, names=names, properties=parsed.properties)


def read_shutdown_timeout(worker: Parsed) -> timedelta:
    """How long a worker's tasks may take to drain."""
    found: timedelta = worker.fields_of(HerderSettings)["shutdown_timeout"]
    return found


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
    """Why Java would not create the checkpoint connector (C106-C109); compares texts as it does."""
    if properties.get("enabled", "true") == "false":
        return ()
    return tuple(
        f"checkpoints need {key}, which is false"
        for key in ("emit.checkpoints.enabled", "emit.offset-syncs.enabled")
        if properties.get(key, "true") == "false"
    )
