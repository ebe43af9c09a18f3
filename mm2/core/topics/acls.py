"""
Access rules of topics: what the source allows becomes what the target allows on the copies.

Nobody but the mirror writes to a remote topic, so the right to write is not copied (KIP-382).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

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


_READING: Final = (AclOperation.READ, AclOperation.DESCRIBE)

_WRITING: Final = frozenset({AclOperation.WRITE, AclOperation.ALL})
_EVERY_TOPIC: Final = "*"
"""As the literal name of a resource, Kafka's word for any resource."""


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


def target_acls(
    source: Iterable[AclBinding],
    *,
    accepts: Callable[[TopicName], bool],
    policy: ReplicationPolicy,
    alias: ClusterAlias,
    mirrored: Collection[TopicName] | None = None,
    same_name_all: bool = False,
) -> frozenset[AclBinding]:
    """
    Returns the rules that the target is to have because the source has them (C186-C191).

    A copy that keeps its topic's name may be a topic that the target's own clients use. Unless
    ``same_name_all``, such a copy gets the rules of reading that name the topic alone: where the
    source denies everything, the target denies to read and to describe.

    Args:
        source: rules of the source cluster, of any kind.
        mirrored: the topics that the flow mirrors now, to copy rules for prefixes and for all
            topics too, which Java never does; None leaves those out.
        same_name_all: whether copies that keep their topic's name get all rules, as in Java.
    """
    copied: set[AclBinding] = set()
    for binding in filter(_is_replicated, source):
        if mirrored is not None and _is_of_many(binding):
            rules = _prefixed(binding, mirrored, policy, alias)
        elif binding.pattern_type is PatternType.LITERAL and accepts(TopicName(binding.name)):
            name = policy.format_remote_topic(alias, TopicName(binding.name))
            rules = {_on_target(binding, name, PatternType.LITERAL)}
        else:
            continue
        keeps_name = any(rule.name == binding.name for rule in rules)
        copied |= _of_reading(rules) if keeps_name and not same_name_all else rules
    return frozenset(copied)


def _of_reading(rules: Iterable[AclBinding]) -> set[AclBinding]:
    """Returns what is left of rules if they may only be about reading a single topic."""
    return {
        replace(rule, operation=operation)
        for rule in rules
        if not _is_of_many(rule)
        for operation in _READING
        if rule.operation in (operation, AclOperation.ALL)
    }


def _is_replicated(binding: AclBinding) -> bool:
    """Tells whether a rule is about topics and is not the right to write them (C186, C187)."""
    return binding.resource_type is ResourceType.TOPIC and (
        (binding.permission, binding.operation) != (AclPermission.ALLOW, AclOperation.WRITE)
    )


def _is_of_many(binding: AclBinding) -> bool:
    return binding.pattern_type is PatternType.PREFIXED or binding.name == _EVERY_TOPIC


def _prefixed(
    binding: AclBinding,
    mirrored: Collection[TopicName],
    policy: ReplicationPolicy,
    alias: ClusterAlias,
) -> set[AclBinding]:
    """
    Rewrites a rule of many topics as one for the prefix that their copies share.

    None is made unless the flow mirrors such a topic, and the policy gives all copies that prefix.
    """
    prefix = "" if binding.name == _EVERY_TOPIC else binding.name
    remote = policy.format_remote_topic(alias, TopicName(prefix))
    copies = {
        remote + topic.removeprefix(prefix): policy.format_remote_topic(alias, topic)
        for topic in mirrored
        if topic.startswith(prefix) and not policy.is_heartbeats_topic(topic)
    }
    if not copies or any(expected != copy for expected, copy in copies.items()):
        return set()
    if not remote:
        return {_on_target(binding, _EVERY_TOPIC, PatternType.LITERAL)}
    return {_on_target(binding, remote, PatternType.PREFIXED)}


def _on_target(binding: AclBinding, name: str, pattern: PatternType) -> AclBinding:
    """Rewrites a rule for the copy; the right to do everything shrinks to reading (C188, C189)."""
    everything = (binding.permission, binding.operation) == (AclPermission.ALLOW, AclOperation.ALL)
    return AclBinding(
        name=name,
        principal=binding.principal,
        operation=AclOperation.READ if everything else binding.operation,
        permission=binding.permission,
        host=binding.host,
        pattern_type=pattern,
    )


def writers(rules: Iterable[AclBinding], topic: str) -> frozenset[str]:
    """
    Returns the principals that a rule allows to write to a topic and that none denies it.

    Rules for single hosts count as if they were for all: which hosts clients use is not known.
    """
    about = [each for each in rules if each.operation in _WRITING and _is_about(each, topic)]
    allowed = {each.principal for each in about if each.permission is AclPermission.ALLOW}
    denied = {each.principal for each in about if each.permission is AclPermission.DENY}
    return frozenset(allowed - denied)


def _is_about(rule: AclBinding, topic: str) -> bool:
    if rule.resource_type is not ResourceType.TOPIC:
        return False
    if rule.pattern_type is PatternType.PREFIXED:
        return topic.startswith(rule.name)
    return rule.name in (topic, _EVERY_TOPIC)
