"""
confluent-kafka's admin objects from and to our own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, TypeVar

from confluent_kafka import ConsumerGroupState, ConsumerGroupType, admin

from mm2.core.topics.acls import AclBinding, AclOperation, AclPermission, PatternType, ResourceType
from mm2.core.topics.remote_configs import AlterConfig, ConfigEntry, ConfigSource
from mm2.kafka.group_model import LIBRDKAFKA_STATES, GroupState, GroupType

T = TypeVar("T")

client: Final[Any] = admin
"""Untyped on purpose: confluent-kafka's annotations of what it re-exports do not hold."""

_SOURCES = {source.value: source for source in ConfigSource}

EVERY_TOPIC_ACL = client.AclBindingFilter(
    client.ResourceType.TOPIC,
    None,
    client.ResourcePatternType.ANY,
    None,
    None,
    client.AclOperation.ANY,
    client.AclPermissionType.ANY,
)


NAMES_PER_REQUEST: Final = 500
"""Topics that one request speaks of at the most."""


def chunks(items: Collection[T], size: int) -> Iterable[list[T]]:
    """Parts of at most ``size`` items, so that no request grows without bounds."""
    listed = list(items)
    for at in range(0, len(listed), size):
        yield listed[at : at + size]


def topic_resource(name: str) -> Any:
    """What the configuration calls take for a topic."""
    return client.ConfigResource(client.ResourceType.TOPIC, name)


def config_entries(entries: Mapping[str, Any]) -> list[ConfigEntry]:
    """A topic's settings in the order of their names."""
    return [_config_entry(entries[name]) for name in sorted(entries)]


def _config_entry(entry: Any) -> ConfigEntry:
    # confluent-kafka gives the source's number here and its enumeration there.
    source = client.ConfigSource(entry.source).name
    return ConfigEntry(
        name=entry.name,
        value=entry.value,
        source=_SOURCES.get(source, ConfigSource.UNKNOWN),
        read_only=entry.is_read_only,
        sensitive=entry.is_sensitive,
    )


def alteration_resource(topic: str, changes: Iterable[AlterConfig]) -> Any:
    """All changes of one topic."""
    resource = topic_resource(topic)
    for change in changes:
        operation = client.AlterConfigOpType[change.operation.value]
        entry = client.ConfigEntry(change.name, change.value, incremental_operation=operation)
        resource.add_incremental_config(entry)
    return resource


def acl_binding_of_codes(
    *,
    name: str,
    principal: str,
    host: str,
    operation: int,
    permission: int,
    resource_type: int,
    pattern_type: int,
) -> AclBinding:
    """One rule, from the numbers of Kafka's protocol."""
    return AclBinding(
        name=name,
        principal=principal,
        operation=AclOperation(client.AclOperation(operation).name),
        permission=AclPermission(client.AclPermissionType(permission).name),
        host=host,
        resource_type=ResourceType(client.ResourceType(resource_type).name),
        pattern_type=PatternType(client.ResourcePatternType(pattern_type).name),
    )


def client_acl_binding(binding: AclBinding) -> Any:
    """One rule, to be told to the cluster."""
    return client.AclBinding(
        client.ResourceType[binding.resource_type.name],
        binding.name,
        client.ResourcePatternType[binding.pattern_type.name],
        binding.principal,
        binding.host,
        client.AclOperation[binding.operation.name],
        client.AclPermissionType[binding.permission.name],
    )


def client_acl_filter(binding: AclBinding) -> Any:
    """What matches one rule, and no other."""
    return client.AclBindingFilter(
        client.ResourceType[binding.resource_type.name],
        binding.name,
        client.ResourcePatternType[binding.pattern_type.name],
        binding.principal,
        binding.host,
        client.AclOperation[binding.operation.name],
        client.AclPermissionType[binding.permission.name],
    )


def group_state(state: ConsumerGroupState) -> GroupState:
    """The state of a group in our terms."""
    return LIBRDKAFKA_STATES.get(state.name, GroupState.UNKNOWN)


def group_type(kind: ConsumerGroupType) -> GroupType:
    """The type of a group in our terms."""
    return GroupType(kind.name)


def client_states(states: Iterable[GroupState]) -> set[ConsumerGroupState]:
    """States to ask for."""
    names = {ours: theirs for theirs, ours in LIBRDKAFKA_STATES.items()}
    return {ConsumerGroupState[names[state]] for state in states}
