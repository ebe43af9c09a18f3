"""
Lists the ACLs of topics.

This one question goes through aiokafka's protocol classes: librdkafka 2.16 answers it with an empty
list where the cluster answers with an error, such as that there is no authorizer (C190).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from aiokafka.protocol.admin import DescribeAclsRequest
from confluent_kafka import KafkaError

from mm2.core.topics.acls import AclBinding
from mm2.kafka.client_errors import from_librdkafka
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.conversions import EVERY_TOPIC_ACL, acl_binding_of_codes

_WHAT: Final = "list ACLs"


async def topic_acls(link: ClusterClient, timeout_s: float) -> list[AclBinding]:
    """
    All rules about topics, of every pattern type, in order.

    Raises:
        SecurityDisabled: the cluster has no authorizer.
        ClusterError: any other failure.
    """
    ask = partial(link.send, None, _WHAT, _request())
    answer = await link.retry(_WHAT, ask, within_s=timeout_s)
    if answer.error_code != KafkaError.NO_ERROR:
        error = KafkaError(answer.error_code, answer.error_message)
        raise from_librdkafka(link.alias, error, _WHAT)
    return sorted(_bindings(answer))


def _request() -> DescribeAclsRequest:
    every = EVERY_TOPIC_ACL
    return DescribeAclsRequest(
        resource_type=every.restype.value,
        resource_name=None,
        resource_pattern_type_filter=every.resource_pattern_type.value,
        principal=None,
        host=None,
        operation=every.operation.value,
        permission_type=every.permission_type.value,
    )


def _bindings(answer: Any) -> Iterator[AclBinding]:
    for resource_type, name, pattern_type, rules in answer.resources:
        for principal, host, operation, permission in rules:
            yield acl_binding_of_codes(
                name=name,
                principal=principal,
                host=host,
                operation=operation,
                permission=permission,
                resource_type=resource_type,
                pattern_type=pattern_type,
            )
