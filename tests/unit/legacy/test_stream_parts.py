"""What ends a stream: partitions that stop for good, whatever stops them."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

from flows.legacy import stream_parts
from flows.legacy.stream_parts import NotCopied, StreamClients, StreamParts
from flows.legacy.stream_spec import StreamSpec
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.send_queue import PartitionSender
from mm2.config.legacy.topic_patterns import TopicSelection
from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.core.positions.log_identity import Lineage
from mm2.errors import ConfigError
from mm2.kafka.admin import Admin
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.requests.fetch import FetchAnswer, FetchedPartition, FetchRequest
from mm2.kafka.wire.requests.list_offsets import EARLIEST
from mm2.kafka.wire.requests.metadata import PartitionMetadata, TopicMetadata
from mm2.kafka.wire.throttle import Throttle
from mm2.kafka.wire.wire_client import WireClient
from tests.support.specs import data_settings, error_settings
from tests.support.virtual_time import run

_WHERE: Final = TopicPartition(TopicName("t"), 0)
_START: Final = 50
_END: Final = 90
_NO_METHOD: Final = (
    "it has no method before_releasing_partitions, before_starting_fetchers, on_partitions_revoked"
    " or on_partitions_assigned"
)


class _Source:
    """One partition, of which retention has left the offsets from 50 on."""

    alias = "source"
    request_timeout_ms = 30_000

    def __init__(self) -> None:
        self.throttle = Throttle(self.alias)

    def end_fetch(self, node: int) -> bool:
        """What it is asked for takes no longer than its answers."""
        return False

    def leader(self, where: TopicPartition) -> int:
        del where
        return 1

    async def refresh(self) -> None:
        pass

    async def describe(self, topics: Iterable[str]) -> dict[str, TopicMetadata]:
        partition = PartitionMetadata(0, 0, 1, 0)
        return {name: TopicMetadata(name, 0, None, False, {0: partition}) for name in topics}

    async def list_offsets(
        self, partitions: Iterable[TopicPartition], at: int, *, read_committed: bool = False
    ) -> dict[TopicPartition, int]:
        del read_committed
        return dict.fromkeys(partitions, _START if at == EARLIEST else _END)

    async def fetch(self, node: int, request: FetchRequest) -> FetchAnswer:
        del node, request
        await asyncio.sleep(0.1)
        code = Code.OFFSET_OUT_OF_RANGE
        answer = FetchedPartition("t", 0, code, -1, -1, -1, (), memoryview(b""))
        return FetchAnswer(0, 0, 0, [answer])


class Unready:
    """A handler and a listener that cannot be created without arguments."""

    def __init__(self, args: str) -> None:
        """Never gets here."""


class Refuses:
    """A handler that wants other arguments."""

    def init(self, args: str) -> None:
        """Says so."""
        raise LookupError(f"no such mark: {args}")


class Exits:
    """A handler and a listener that end the process."""

    def __init__(self) -> None:
        sys.exit("no way")


class Shapeless:
    """Neither a handler nor a listener."""

    def __init__(self, args: str = "") -> None:
        """Takes what it is given."""


def _parts(*, tolerates: bool = False, **changes: Any) -> StreamParts:
    spec = StreamSpec(
        group=GroupId("g"),
        index=0,
        source={},
        target={},
        data=data_settings(reset="none"),
        selection=TopicSelection(include="t"),
        errors=error_settings(tolerates=tolerates),
        commit_interval_s=60,
        driver=("", 0),
        token="",
        **changes,
    )
    clients = StreamClients(
        source=cast("WireClient", _Source()),
        target=cast("WireClient", SimpleNamespace(alias="target", throttle=Throttle("target"))),
        identity=ProducerIdentity(5, 1),
        source_admin=cast("Admin", None),
        target_admin=cast("Admin", None),
    )
    return StreamParts(spec, clients)


@pytest.mark.parametrize("tolerates", [False, True])
@pytest.mark.parametrize(
    ("committed", "reason"),
    [
        pytest.param(None, "no position yet, and auto.offset.reset=none", id="no-offset"),
        pytest.param(9, "position 10 is outside of the log, 50 to 90", id="past-retention"),
    ],
)
def test_the_stream_ends_where_auto_offset_reset_says_nothing(
    monkeypatch: pytest.MonkeyPatch, committed: int | None, reason: str, *, tolerates: bool
) -> None:
    monkeypatch.setattr(stream_parts, "GroupConsumer", lambda *_, **__: None)

    async def go() -> None:
        parts = _parts(tolerates=tolerates)
        mirrored = MirroredPartition(_WHERE, PartitionSender(_WHERE))
        mirrored.remote.unblock()
        if committed is not None:
            mirrored.continue_from(committed, Lineage())
        parts.partitions[_WHERE] = mirrored
        fetching = asyncio.create_task(parts.fetcher.run(), name="fetcher")
        try:
            async with asyncio.timeout(60):
                await parts.until_failed()
        finally:
            fetching.cancel()

    with pytest.raises(NotCopied, match=reason):
        run(go())


@pytest.mark.parametrize(
    ("option", "flag", "name", "reason"),
    [
        ("handler", "--message.handler", "Unready", "TypeError("),
        ("handler", "--message.handler", "Refuses", "LookupError('no such mark: x')"),
        ("handler", "--message.handler", "Exits", "SystemExit('no way')"),
        ("handler", "--message.handler", "Shapeless", "AttributeError("),
        ("handler", "--message.handler", "Missing", "cannot be loaded"),
        ("listener", "--consumer.rebalance.listener", "Unready", "TypeError("),
        ("listener", "--consumer.rebalance.listener", "Exits", "SystemExit('no way')"),
        ("listener", "--consumer.rebalance.listener", "Shapeless", _NO_METHOD),
    ],
)
def test_a_class_that_cannot_be_created_is_named_with_its_flag(
    monkeypatch: pytest.MonkeyPatch, option: str, flag: str, name: str, reason: str
) -> None:
    monkeypatch.setattr(stream_parts, "GroupConsumer", lambda *_, **__: None)
    path = f"{__name__}:{name}"
    told = f"{re.escape(f'{flag} {path} cannot be used: ')}.*{re.escape(reason)}"
    changes: dict[str, Any] = {"handler_args": "x", option: path}
    with pytest.raises(ConfigError, match=told):
        _parts(**changes)
