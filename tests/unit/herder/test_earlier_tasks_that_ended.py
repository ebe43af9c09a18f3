"""Tasks of an earlier leader are fenced once, also where their bundles are not started again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import cast

import pytest

from mm2.config.flow_config import FlowConfig
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import NotAuthorized
from mm2.herder.bundles.task_fencing import end_earlier_tasks
from mm2.kafka.wire.wire_client import WireClient
from mm2.kafka.writer import Writer
from mm2.protocol.control_codec import decode_control
from mm2.protocol.control_records import Assignment, BundleState
from tests.support.configs import config_of

_SOURCE = TopicPartition(TopicName("t"), 2)
_REMOTE = TopicPartition(TopicName("A.t"), 2)


class _Target(WireClient):
    """Gives producer ids, if it may; its topics are gone by now."""

    def __init__(self, *, is_allowed: bool) -> None:
        self.alias = "B"
        self._is_allowed = is_allowed

    async def start(self) -> None:
        """Is there."""

    async def close(self) -> None:
        """Holds nothing."""

    async def coordinator(self, _kind: object, _key: str) -> int:
        return 0

    async def describe(self, topics: object) -> dict[str, object]:  # type: ignore[override]
        return {name: SimpleNamespace(partitions={}) for name in cast("set[str]", topics)}

    async def ask(self, _node: int, _request: object) -> SimpleNamespace:
        if not self._is_allowed:
            raise NotAuthorized("B", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED")
        return SimpleNamespace(error_code=0, producer_id=7, producer_epoch=1)


class _Control:
    """The control topic: the last word under each key."""

    def __init__(self, *assignments: Assignment) -> None:
        self.bundles = {each.index: each for each in assignments}

    async def send(self, _topic: str, key: bytes, value: bytes, *, partition: int) -> int:
        entry = decode_control(key, value)
        assert isinstance(entry, Assignment)
        self.bundles[entry.index] = entry
        return partition

    def end(self, config: FlowConfig, *, is_allowed: bool) -> Mapping[int, set[TopicPartition]]:
        return asyncio.run(
            end_earlier_tasks(
                config,
                list(self.bundles.values()),
                cast("Writer", self),
                lambda *_: _Target(is_allowed=is_allowed),
            )
        )


def _assignment(index: int, *, is_drained: bool) -> Assignment:
    return Assignment(
        index=index,
        epoch=3,
        generation=4,
        state=BundleState.RUNNING,
        partitions={_SOURCE: _REMOTE.topic},
        is_drained=is_drained,
    )


@pytest.mark.parametrize("is_allowed", [True, False])
def test_what_was_fenced_has_ended_and_what_was_not_may_still_be_written(is_allowed: bool) -> None:
    control = _Control(_assignment(0, is_drained=True), _assignment(5, is_drained=False))
    writable = control.end(config_of(), is_allowed=is_allowed)
    assert writable == ({} if is_allowed else {5: {_REMOTE}})
    ended = control.bundles[5]
    assert ended.is_drained is is_allowed
    # The next leader leaves the partitions where they are.
    assert (ended.epoch, ended.partitions) == (3, {_SOURCE: _REMOTE.topic})
