"""Commands that grant what is missing do what they say, whatever names are like."""

from __future__ import annotations

import subprocess

import pytest

from mm2.core.preflight.acl_commands import CLUSTER, Permission, grant_commands, shell
from mm2.core.topics.acls import AclOperation, PatternType, ResourceType


def _permission(
    name: str,
    kind: ResourceType = ResourceType.TOPIC,
    pattern: PatternType = PatternType.LITERAL,
    *operations: AclOperation,
) -> Permission:
    return Permission(
        resource_type=kind,
        name=name,
        operations=operations or (AclOperation.READ, AclOperation.DESCRIBE_CONFIGS),
        purpose="copy it",
        pattern_type=pattern,
    )


def _commands(*permissions: Permission, is_secured: bool = False) -> list[str]:
    return grant_commands(
        permissions, principal="User:mirror", servers="a:9092", is_secured=is_secured
    )


def test_resources_with_the_same_operations_share_a_command() -> None:
    (command,) = _commands(_permission("orders"), _permission("payments"), is_secured=True)
    assert command == (
        "kafka-acls.sh --bootstrap-server a:9092 --command-config admin.properties --add"
        " --allow-principal User:mirror --operation Read --operation DescribeConfigs"
        " --topic orders --topic payments"
    )


def test_a_prefix_and_the_cluster_have_commands_of_their_own() -> None:
    prefix = _permission("A.", ResourceType.TOPIC, PatternType.PREFIXED, AclOperation.WRITE)
    cluster = _permission(CLUSTER, ResourceType.CLUSTER, PatternType.LITERAL, AclOperation.ALTER)
    commands = _commands(prefix, cluster, _permission("g", ResourceType.GROUP))
    assert len(commands) == 3
    assert any(each.endswith("--topic A. --resource-pattern-type prefixed") for each in commands)
    assert any(each.endswith("--operation Alter --cluster") for each in commands)
    assert any(each.endswith("--group g") for each in commands)


@pytest.mark.parametrize(
    "name",
    [
        "plain",
        "two words",
        "$(reboot)",
        "`id`",
        "a'b",
        'a"b',
        "a\nb",
        "\x1b[31mred'\\",
        "é\t",
        "-x",
    ],
)
def test_a_shell_takes_a_name_as_one_word(name: str) -> None:
    line = shell("printf", "%s", name) if not name.startswith("-") else shell("printf", "--", name)
    assert line.isprintable()
    printed = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert printed.stdout.decode() == name
