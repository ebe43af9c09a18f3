"""What a flow must be allowed to do on its clusters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from mm2.config.flow_config import FlowConfig
from mm2.core.lists import parse_list
from mm2.core.model import TopicName
from mm2.core.policy import ReplicationPolicy
from mm2.core.preflight.acl_commands import CLUSTER, Permission
from mm2.core.topics.acls import AclOperation as Op
from mm2.core.topics.acls import PatternType, ResourceType
from mm2.herder.topics.internal_topics import internal_topics

_INTERNAL: Final = (Op.CREATE, Op.READ, Op.WRITE, Op.DESCRIBE)
_REMOTE: Final = (
    Op.CREATE,
    Op.WRITE,
    Op.DESCRIBE,
    Op.DESCRIBE_CONFIGS,
    Op.ALTER,
    Op.ALTER_CONFIGS,
)
_SYNTAX: Final = frozenset("*+?()[]{}|\\^$")
"""A dot stands for itself in most names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """
    A permission, and what to look at to see whether it is there.

    Attributes:
        names: of the resources that must be covered.
    """

    permission: Permission
    names: tuple[str, ...]


def source_needs(
    config: FlowConfig, policy: ReplicationPolicy, mirrored: Collection[TopicName]
) -> list[Need]:
    """What the flow needs on its source."""
    named = set(_literal(config.source.properties, "topics"))
    needs = [
        _need(ResourceType.TOPIC, each, (Op.READ, Op.DESCRIBE, Op.DESCRIBE_CONFIGS), "copy it")
        for each in sorted(named.union(mirrored))
    ]
    needs += _internal(config, policy, on_source=True)
    if config.checkpoint.runs:
        groups = _literal(config.checkpoint.properties, "groups")
        purpose = "translate its offsets"
        needs += [_need(ResourceType.GROUP, each, (Op.DESCRIBE,), purpose) for each in groups]
    if config.source.sync_topic_acls is not None:
        purpose = "copy ACLs; else set sync.topic.acls.enabled = false"
        needs.append(_need(ResourceType.CLUSTER, CLUSTER, (Op.DESCRIBE,), purpose, optional=True))
    return needs


def target_needs(
    config: FlowConfig, policy: ReplicationPolicy, remotes: Collection[TopicName]
) -> list[Need]:
    """What the flow needs on its target."""
    herder = config.herder
    is_exact = herder.exactly_once == "enabled"
    needs = [*_remote(config, policy, remotes, is_exact=is_exact)]
    needs += _internal(config, policy, on_source=False)
    group = str(herder.names.election_group)
    needs.append(_need(ResourceType.GROUP, group, (Op.READ,), "elect the flow's leader"))
    needs.append(
        Need(
            permission=Permission(
                resource_type=ResourceType.TRANSACTIONAL_ID,
                name=f"{herder.group_id}-",
                pattern_type=PatternType.PREFIXED,
                operations=(Op.DESCRIBE, Op.WRITE),
                purpose="keep earlier tasks from writing",
                optional=not is_exact,
            ),
            names=(f"{herder.group_id}-preflight",),
        )
    )
    if is_exact:
        positions = str(herder.names.positions_group)
        needs.append(_need(ResourceType.GROUP, positions, (Op.READ,), "mirror exactly once"))
    if config.checkpoint.runs and config.checkpoint.sync_group_offsets is not None:
        groups = _literal(config.checkpoint.properties, "groups")
        operations, purpose = (Op.READ, Op.DESCRIBE), "sync its offsets"
        needs += [_need(ResourceType.GROUP, each, operations, purpose) for each in groups]
    if config.source.sync_topic_acls is not None:
        purpose = "copy ACLs; else set sync.topic.acls.enabled = false"
        operations = (Op.DESCRIBE, Op.ALTER)
        needs.append(_need(ResourceType.CLUSTER, CLUSTER, operations, purpose, optional=True))
    return needs


def _remote(
    config: FlowConfig, policy: ReplicationPolicy, remotes: Collection[TopicName], *, is_exact: bool
) -> Iterator[Need]:
    """One rule for the prefix that all copies have, or one for each copy."""
    reads = is_exact or config.checkpoint.sync_group_offsets is not None
    operations = (*_REMOTE, Op.READ) if reads else _REMOTE
    prefix = policy.format_remote_topic(config.flow.source, TopicName(""))
    if prefix and all(each.startswith(prefix) for each in remotes):
        permission = Permission(
            resource_type=ResourceType.TOPIC,
            name=prefix,
            pattern_type=PatternType.PREFIXED,
            operations=operations,
            purpose="write copies",
        )
        yield Need(permission=permission, names=tuple(sorted(remotes)))
        return
    for each in sorted(remotes):
        yield _need(ResourceType.TOPIC, each, operations, "write copies")


def _internal(config: FlowConfig, policy: ReplicationPolicy, *, on_source: bool) -> Iterator[Need]:
    for topic in internal_topics(config, policy):
        if topic.is_on_source == on_source:
            yield _need(ResourceType.TOPIC, topic.name, _INTERNAL, "keep the flow's state")


def _literal(properties: Mapping[str, str], key: str) -> Iterable[str]:
    """What the file names itself; of patterns it is not known what they are to match."""
    patterns = parse_list(key, properties.get(key, ""))
    return [each for each in patterns if not _SYNTAX.intersection(each)]


def _need(
    kind: ResourceType,
    name: str,
    operations: tuple[Op, ...],
    purpose: str,
    *,
    optional: bool = False,
) -> Need:
    permission = Permission(
        resource_type=kind, name=name, operations=operations, purpose=purpose, optional=optional
    )
    return Need(permission=permission, names=(name,))
