"""Who may write to a topic."""

from __future__ import annotations

import pytest

from mm2.core.topics.acls import (
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourceType,
    writers,
)


def rule(
    name: str = "orders",
    operation: AclOperation = AclOperation.WRITE,
    *,
    pattern: PatternType = PatternType.LITERAL,
    kind: ResourceType = ResourceType.TOPIC,
) -> AclBinding:
    return AclBinding(
        name=name,
        principal="User:a",
        operation=operation,
        pattern_type=pattern,
        resource_type=kind,
    )


@pytest.mark.parametrize(
    "found",
    [
        rule(),
        rule(operation=AclOperation.ALL),
        rule("*"),
        rule("ord", pattern=PatternType.PREFIXED),
    ],
)
def test_rules_that_allow_writing_count(found: AclBinding) -> None:
    assert writers([found], "orders") == {"User:a"}


@pytest.mark.parametrize(
    "found",
    [
        rule("other"),
        rule("ord"),
        rule("orders2", pattern=PatternType.PREFIXED),
        rule(operation=AclOperation.READ),
        rule(kind=ResourceType.GROUP),
    ],
)
def test_others_do_not(found: AclBinding) -> None:
    assert writers([found], "orders") == frozenset()


def test_what_is_denied_is_not_allowed() -> None:
    deny = AclBinding(
        name="*",
        principal="User:a",
        operation=AclOperation.ALL,
        permission=AclPermission.DENY,
    )
    assert writers([rule(), deny], "orders") == frozenset()
