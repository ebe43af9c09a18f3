"""Lists, creates and deletes ACLs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final

from aiokafka.protocol.admin import (
    CreateAclsRequest_v1,
    DeleteAclsRequest_v1,
    DescribeAclsRequest,
)
from aiokafka.protocol.api import Request

from mm2.core.topics.acls import AclBinding, AclOperation, AclPermission, PatternType, ResourceType
from mm2.errors import ClusterError
from mm2.kafka.changes import Outcome, change
from mm2.kafka.chunks import NAMES_PER_REQUEST, chunks
from mm2.kafka.client_errors import from_code
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.wire.error_codes import Code

_WHAT: Final = "list ACLs"
_ANY: Final = 1
_RESOURCES: Final = dict(enumerate(ResourceType, start=2))
_OPERATIONS: Final = dict(enumerate(AclOperation, start=2))
_PERMISSIONS: Final = {2: AclPermission.DENY, 3: AclPermission.ALLOW}
_PATTERNS: Final = {3: PatternType.LITERAL, 4: PatternType.PREFIXED}
_CODES: Final = {
    word: code
    for codes in (_RESOURCES, _OPERATIONS, _PERMISSIONS, _PATTERNS)
    for code, word in codes.items()
}
_TOPICS: Final = _CODES[ResourceType.TOPIC]


class _CreateAcls(Request[CreateAclsRequest_v1]):
    API_KEY = CreateAclsRequest_v1.API_KEY

    def __init__(self, rules: Iterable[AclBinding]) -> None:
        self._rules = list(map(_encoded, rules))

    def build(self, request_struct_class: type[CreateAclsRequest_v1]) -> CreateAclsRequest_v1:
        return request_struct_class(self._rules)


class _DeleteAcls(Request[DeleteAclsRequest_v1]):
    """Each filter matches one rule, and no other."""

    API_KEY = DeleteAclsRequest_v1.API_KEY

    def __init__(self, rules: Iterable[AclBinding]) -> None:
        self._filters = list(map(_encoded, rules))

    def build(self, request_struct_class: type[DeleteAclsRequest_v1]) -> DeleteAclsRequest_v1:
        return request_struct_class(self._filters)


async def topic_acls(link: ClusterClient, timeout_s: float) -> list[AclBinding]:
    """All rules about topics, of every pattern type, in order."""
    request = DescribeAclsRequest(_TOPICS, None, _ANY, None, None, _ANY, _ANY)
    answer = await link.retry(_WHAT, partial(link.send, None, _WHAT, request), within_s=timeout_s)
    if answer.error_code != Code.NONE:
        raise from_code(link.alias, answer.error_code, _WHAT, answer.error_message)
    return sorted(_bindings(answer))


async def create_acls(
    link: ClusterClient, rules: Iterable[AclBinding], timeout_s: float
) -> dict[AclBinding, ClusterError]:
    """Creates rules; those that exist are no failure. Returns what failed, by rule."""
    failed: dict[AclBinding, ClusterError] = {}
    for part in chunks(dict.fromkeys(rules), NAMES_PER_REQUEST):
        request, read = _CreateAcls(part), partial(_created, part)
        failed |= await change(link, "create ACL", part, request, read, within_s=timeout_s)
    return failed


async def delete_acls(
    link: ClusterClient, rules: Iterable[AclBinding], timeout_s: float
) -> dict[AclBinding, ClusterError]:
    """Deletes exactly these rules; those that are gone are no failure. Returns what failed."""
    failed: dict[AclBinding, ClusterError] = {}
    for part in chunks(dict.fromkeys(rules), NAMES_PER_REQUEST):
        request, read = _DeleteAcls(part), partial(_deleted, part)
        failed |= await change(link, "delete ACL", part, request, read, within_s=timeout_s)
    return failed


def _created(rules: Iterable[AclBinding], answer: Any) -> Iterator[Outcome[AclBinding]]:
    for rule, (code, message) in zip(rules, answer.creation_responses, strict=True):
        yield rule, code, message


def _deleted(rules: Iterable[AclBinding], answer: Any) -> Iterator[Outcome[AclBinding]]:
    for rule, (code, message, matched) in zip(rules, answer.filter_responses, strict=True):
        failures = [(code, message), *(each[:2] for each in matched)]
        yield rule, *next((each for each in failures if each[0]), failures[0])


def _encoded(rule: AclBinding) -> tuple[object, ...]:
    return (
        _CODES[rule.resource_type],
        rule.name,
        _CODES[rule.pattern_type],
        rule.principal,
        rule.host,
        _CODES[rule.operation],
        _CODES[rule.permission],
    )


def _bindings(answer: Any) -> Iterator[AclBinding]:
    for resource_type, name, pattern_type, rules in answer.resources:
        for principal, host, operation, permission in rules:
            yield AclBinding(
                name=name,
                principal=principal,
                host=host,
                operation=_OPERATIONS[operation],
                permission=_PERMISSIONS[permission],
                resource_type=_RESOURCES[resource_type],
                pattern_type=_PATTERNS[pattern_type],
            )
