"""
Lists the ACLs of topics.

This one question goes through aiokafka's protocol classes: librdkafka 2.16 answers it with an empty
list where the cluster answers with an error, such as that there is no authorizer (C190).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from aiokafka import errors
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.admin import DescribeAclsRequest
from confluent_kafka import KafkaError

from mm2.core.acls import AclBinding
from mm2.kafka.conversions import EVERY_TOPIC_ACL, acl_binding_of_codes
from mm2.kafka.errors import NotSupported, from_librdkafka, translated
from mm2.kafka.settings import aiokafka_settings

_WHAT = "list ACLs"


async def topic_acls(
    alias: str, properties: Mapping[str, str], timeout_s: float
) -> list[AclBinding]:
    """
    All rules about topics, of every pattern type, in order.

    Raises:
        SecurityDisabled: the cluster has no authorizer.
        ClusterError: any other failure.
    """
    settings = await asyncio.to_thread(aiokafka_settings, properties)
    client = AIOKafkaClient(**settings)
    try:
        with translated(alias, _WHAT):
            async with asyncio.timeout(timeout_s):
                await client.bootstrap()
                answer = await client.send(client.get_random_node(), _request())
    except errors.IncompatibleBrokerVersion as error:
        raise NotSupported(alias, f"{_WHAT}: {error}") from error
    finally:
        await client.close()
    _check(alias, answer)
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


def _check(alias: str, answer: Any) -> None:
    if answer.error_code != KafkaError.NO_ERROR:
        raise from_librdkafka(alias, KafkaError(answer.error_code, answer.error_message), _WHAT)


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
