"""
Who may write to a topic, by the rules of a cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mm2.core.topics.acls import AclBinding, AclOperation, AclPermission, PatternType, ResourceType

_WRITING: Final = frozenset({AclOperation.WRITE, AclOperation.ALL})
_EVERY_TOPIC: Final = "*"


def writers(rules: Iterable[AclBinding], topic: str) -> frozenset[str]:
    """
    Returns the principals that a rule allows to write to a topic and that none denies it.

    Rules for single hosts count as if they were for all: which hosts clients use is not known.

    Args:
        rules: of the cluster.
        topic: its name.
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
