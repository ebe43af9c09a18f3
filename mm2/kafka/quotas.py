"""
Lists what clients may use of a cluster (KIP-546).
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from aiokafka.protocol.admin import DescribeClientQuotasRequest

from mm2.kafka.client_errors import from_code
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.wire.error_codes import Code

_WHAT: Final = "list quotas"
_DEFAULT: Final = "<default>"


async def client_quotas(link: ClusterClient, timeout_s: float) -> dict[str, dict[str, float]]:
    """All limits by the client that they are for, such as ``client-id=x, user=y``."""
    request = DescribeClientQuotasRequest([], strict=False)
    ask = partial(link.send, None, _WHAT, request)
    answer = await link.retry(_WHAT, ask, within_s=timeout_s)
    if answer.error_code != Code.NONE:
        raise from_code(link.alias, answer.error_code, _WHAT, answer.error_message)
    return {_name(entity): dict(values) for entity, values in answer.entries or []}


def _name(entity: list[Any]) -> str:
    parts = sorted((kind, _DEFAULT if name is None else name) for kind, name in entity)
    return ", ".join(f"{kind}={name}" for kind, name in parts)
