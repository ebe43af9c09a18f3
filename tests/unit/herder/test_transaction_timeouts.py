"""Brokers refuse producer ids for transactions that may take longer than they allow."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from flows.source.send.producer_id import bundle_identity
from mm2.config.flow_config import FlowConfig
from mm2.errors import ClusterError
from mm2.herder.bundles.make_bundle_spec import bundle_spec
from mm2.herder.bundles.task_fencing import fence_earlier_tasks
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.wire_client import WireClient
from tests.support.configs import config_of

_IDENTITY = ProducerIdentity(7, 1, "A-mm2-MirrorSourceConnector-0")
_USERS_MS = 30_000


class _Target(WireClient):
    """Allows transactions of 30 s (``transaction.max.timeout.ms``)."""

    asked: list[int]

    def __init__(self, alias: str, settings: Mapping[str, object]) -> None:
        del settings
        self.alias = alias

    async def start(self) -> None:
        self.asked = []

    async def close(self) -> None:
        pass

    async def coordinator(self, _kind: object, _key: str) -> int:
        return 0

    async def ask(self, _node: int, request: Any) -> Any:
        self.asked.append(request._transaction_timeout_ms)
        is_allowed = request._transaction_timeout_ms <= _USERS_MS
        code = Code.NONE if is_allowed else Code.INVALID_TRANSACTION_TIMEOUT
        return SimpleNamespace(
            error_code=code,
            producer_id=_IDENTITY.producer_id,
            producer_epoch=_IDENTITY.epoch,
        )


def _config(mode: str, timeout_ms: int = _USERS_MS) -> FlowConfig:
    more = {
        "B.exactly.once.source.support": mode,
        "B.producer.transaction.timeout.ms": str(timeout_ms),
    }
    return config_of(more)


@pytest.mark.parametrize("mode", ["enabled", "disabled"])
def test_fencing_and_tasks_ask_for_no_longer_than_the_user_does(mode: str) -> None:
    clients: list[_Target] = []

    def connect(alias: str, settings: Mapping[str, object]) -> WireClient:
        clients.append(_Target(alias, settings))
        return clients[-1]

    async def fence_and_begin() -> ProducerIdentity:
        config = _config(mode)
        await fence_earlier_tasks(config, 2, connect)
        return await bundle_identity(bundle_spec(config, 0, 1, "syncs"), clients[0])

    assert asyncio.run(fence_and_begin()) == _IDENTITY
    assert len(clients[0].asked) >= 3
    assert max(clients[0].asked) <= _USERS_MS


def test_too_long_a_timeout_is_called_that() -> None:
    async def fence() -> None:
        await fence_earlier_tasks(_config("enabled", 60_000), 2, _Target)

    with pytest.raises(
        ClusterError, match=r"INVALID_TRANSACTION_TIMEOUT.*transaction\.max\.timeout"
    ) as raised:
        asyncio.run(fence())
    assert "Write and Describe" not in str(raised.value)
