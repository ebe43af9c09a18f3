"""Commands of Kafka's tools that do what is missing, to be copied into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from mm2.core.topics.acls import AclOperation, PatternType, ResourceType

CLUSTER: Final = "kafka-cluster"
"""The name of the one resource of its type."""

_OPTIONS: Final = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Permission:
    """
    Something that a mirror must be allowed to do on a cluster.

    Attributes:
        name: of the resource, or its beginning.
        purpose: what it is for; ends "so that ...".
        pattern_type: whether ``name`` is the whole name.
        optional: whether a mirror works without it, and only lacks the purpose.
    """

    resource_type: ResourceType
    name: str
    operations: tuple[AclOperation, ...]
    purpose: str
    pattern_type: PatternType = PatternType.LITERAL
    optional: bool = False


def grant_commands(
    permissions: Iterable[Permission], *, principal: str, servers: str, is_secured: bool
) -> list[str]:
    """
    Commands that grant permissions; one for all resources that get the same operations.

    Args:
        principal: to whom, such as ``User:mirror``.
        is_secured: whether the administrator's client needs settings, too.
    """

    def kind(each: Permission) -> tuple[ResourceType, PatternType, tuple[AclOperation, ...]]:
        return each.resource_type, each.pattern_type, each.operations

    return [
        _command(list(some), principal, servers, is_secured=is_secured)
        for _, some in groupby(sorted(permissions, key=kind), key=kind)
    ]


def _command(some: Sequence[Permission], principal: str, servers: str, *, is_secured: bool) -> str:
    first = some[0]
    words = ["kafka-acls.sh", "--bootstrap-server", servers]
    if is_secured:
        words += ["--command-config", "admin.properties"]
    words += ["--add", "--allow-principal", principal]
    for operation in first.operations:
        words += ["--operation", _camel(operation)]
    if first.resource_type is ResourceType.CLUSTER:
        return shell(*words, "--cluster")
    for name in dict.fromkeys(each.name for each in some):
        words += [_OPTIONS[first.resource_type], name]
    if first.pattern_type is PatternType.PREFIXED:
        words += ["--resource-pattern-type", "prefixed"]
    return shell(*words)


def shell(*words: str) -> str:
    """Words as one line of a shell; control characters are written as escapes."""
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(map(_escaped, escaped)) + "'"


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))


def _camel(operation: AclOperation) -> str:
    return "".join(part.capitalize() for part in operation.value.split("_"))
