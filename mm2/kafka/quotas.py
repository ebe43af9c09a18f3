"""
Lists what clients may use of a cluster (KIP-546); confluent-kafka has no such call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from aiokafka import errors
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.admin import DescribeClientQuotasRequest
from confluent_kafka import KafkaError

from mm2.kafka.errors import NotSupported, from_librdkafka, translated
from mm2.kafka.settings import aiokafka_settings

_WHAT = "list quotas"
_DEFAULT = "<default>"


async def client_quotas(
    alias: str, properties: Mapping[str, str], timeout_s: float
) -> dict[str, dict[str, float]]:
    """
    All limits by the client that they are for, such as ``client-id=x, user=y``.

    Raises:
        NotSupported: the cluster is older than this question (2.6).
        ClusterError: any other failure.
    """
    settings = await asyncio.to_thread(aiokafka_settings, properties)
    client = AIOKafkaClient(**settings)
    try:
        with translated(alias, _WHAT):
            async with asyncio.timeout(timeout_s):
                await client.bootstrap()
                request = DescribeClientQuotasRequest([], strict=False)
                answer = await client.send(client.get_random_node(), request)
    except errors.IncompatibleBrokerVersion as error:
        raise NotSupported(alias, f"{_WHAT}: {error}") from error
    finally:
        await client.close()
    if answer.error_code != KafkaError.NO_ERROR:
        raise from_librdkafka(alias, KafkaError(answer.error_code, answer.error_message), _WHAT)
    return {_name(entity): dict(values) for entity, values in answer.entries or []}


def _name(entity: list[Any]) -> str:
    parts = sorted((kind, _DEFAULT if name is None else name) for kind, name in entity)
    return ", ".join(f"{kind}={name}" for kind, name in parts)
