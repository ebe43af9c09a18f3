"""
Access rules of topics: what the source allows becomes what the target allows on the copies.

Nobody but the mirror writes to a remote topic, so the right to write is not copied (KIP-382).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from mm2.core.model import ClusterAlias, TopicName
from mm2.core.policy import ReplicationPolicy


class ResourceType(StrEnum):
    """What a rule is about; the names are Kafka's."""

    TOPIC = "TOPIC"
    GROUP = "GROUP"
    CLUSTER = "CLUSTER"
    TRANSACTIONAL_ID = "TRANSACTIONAL_ID"
    DELEGATION_TOKEN = "DELEGATION_TOKEN"  # noqa: S105  # a kind of resource, no password
    USER = "USER"


class PatternType(StrEnum):
    """How a rule names its resource; the names are Kafka's."""

    LITERAL = "LITERAL"
    PREFIXED = "PREFIXED"


class AclOperation(StrEnum):
    """What a rule lets one do; the names are Kafka's."""

    ALL = "ALL"
    READ = "READ"
    WRITE = "WRITE"
    CREATE = "CREATE"
    DELETE = "DELETE"
    ALTER = "ALTER"
    DESCRIBE = "DESCRIBE"
    CLUSTER_ACTION = "CLUSTER_ACTION"
    DESCRIBE_CONFIGS = "DESCRIBE_CONFIGS"
    ALTER_CONFIGS = "ALTER_CONFIGS"
    IDEMPOTENT_WRITE = "IDEMPOTENT_WRITE"
    CREATE_TOKENS = "CREATE_TOKENS"
    DESCRIBE_TOKENS = "DESCRIBE_TOKENS"
    TWO_PHASE_COMMIT = "TWO_PHASE_COMMIT"


class AclPermission(StrEnum):
    """Whether a rule allows or denies; the names are Kafka's."""

    ALLOW = "ALLOW"
    DENY = "DENY"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class AclBinding:
    """One rule: who may, or may not, do what with which resource, from where."""

    name: str
    principal: str
    operation: AclOperation
    permission: AclPermission = AclPermission.ALLOW
    host: str = "*"
    resource_type: ResourceType = ResourceType.TOPIC
    pattern_type: PatternType = PatternType.LITERAL


def acls_to_create(
    source: Iterable[AclBinding],
    *,
    accepts: Callable[[TopicName], bool],
    policy: ReplicationPolicy,
    alias: ClusterAlias,
    existing: Collection[AclBinding] = (),
) -> tuple[AclBinding, ...]:
    """
    Returns the rules that the target lacks, in order (C186-C191).

    Rules are never removed from the target, not even when the source's are gone (C191).

    Args:
        source: rules of the source cluster, of any kind.
        accepts: whether the flow mirrors a topic; see ``should_replicate_topic``.
        policy: names the remote topics.
        alias: the source cluster's alias.
        existing: rules of the target. Java creates those anew, which changes nothing.
    """
    copied = {
        _target_binding(binding, policy, alias)
        for binding in source
        if _is_replicated(binding) and accepts(TopicName(binding.name))
    }
    return tuple(sorted(copied.difference(existing)))


def _is_replicated(binding: AclBinding) -> bool:
    """Tells whether a rule is about one topic and is not the right to write it (C186, C187)."""
    return (
        binding.resource_type is ResourceType.TOPIC
        and binding.pattern_type is PatternType.LITERAL
        and (binding.permission, binding.operation) != (AclPermission.ALLOW, AclOperation.WRITE)
    )


def _target_binding(
    binding: AclBinding, policy: ReplicationPolicy, alias: ClusterAlias
) -> AclBinding:
    """Rewrites a rule for the copy; the right to do everything shrinks to reading (C188, C189)."""
    everything = (binding.permission, binding.operation) == (AclPermission.ALLOW, AclOperation.ALL)
    return AclBinding(
        name=policy.format_remote_topic(alias, TopicName(binding.name)),
        principal=binding.principal,
        operation=AclOperation.READ if everything else binding.operation,
        permission=binding.permission,
        host=binding.host,
    )
