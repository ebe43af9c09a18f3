"""A writer that closes while its cluster is away gives up what is not written, and all ends."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError, NotLeaderForPartitionError
from aiokafka.protocol.produce import ProduceRequest

from mm2.demo.broker_settings import HOST
from mm2.errors import Unavailable
from mm2.kafka import abandonable_producer, writer
from mm2.kafka.wire.nodes import NodesClient
from mm2.kafka.wire.requests.metadata import MetadataRequest
from mm2.kafka.writer import Stamped, Writer
from tests.support.fenced_broker import LED, FencedBroker, fenced_broker

_WRITTEN = SimpleNamespace(API_VERSION=2, topics=[(LED, [(0, 0, 5, -1)])])

Write = Callable[[Writer], asyncio.Task[object]]


class _Network:
    """
    Loses requests of aiokafka's client.

    Attributes:
        passed: how many requests of a kind reach the broker; all, if it is not named.
        lost: set when one does not.
        failure: raised instead of a request to write; None if it is not answered.
        may_answer: then what is written is answered all the same.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passed = Counter[type[object]]({ProduceRequest: 0})
        self.lost = {kind: asyncio.Event() for kind in (ProduceRequest, MetadataRequest)}
        self.failure: Exception | None = None
        self.may_answer = asyncio.Event()
        send = NodesClient.send

        async def sent(client: NodesClient, node: int, request: Any, **options: Any) -> Any:
            kind = type(request)
            if kind not in self.passed:
                return await send(client, node, request, **options)
            self.passed[kind] -= 1
            if self.passed[kind] >= 0:
                return await send(client, node, request, **options)
            self.lost[kind].set()
            if kind is ProduceRequest and self.failure is not None:
                raise self.failure
            await self.may_answer.wait()
            return _WRITTEN

        monkeypatch.setattr(NodesClient, "send", sent)


@pytest.fixture
async def broker(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FencedBroker]:
    """It leads a partition; whoever closes a writer waits until this has stopped by itself."""
    monkeypatch.setattr(writer, "WRITER_FLUSH_S", 0.01)
    monkeypatch.setattr(abandonable_producer, "WRITER_CLOSE_S", 300)
    async with fenced_broker() as broker:
        broker.is_fenced = False
        broker.leaders = [1]
        yield broker


@pytest.fixture
async def network(monkeypatch: pytest.MonkeyPatch) -> _Network:
    return _Network(monkeypatch)


@asynccontextmanager
async def _opened(broker: FencedBroker, retry_ms: int = 1) -> AsyncIterator[Writer]:
    """A writer that is closed; then nothing of it is left, and nothing was told."""
    told = list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    properties = {
        "bootstrap.servers": f"{HOST}:{broker.port}",
        "retry.backoff.ms": str(retry_ms),
    }
    before = asyncio.all_tasks()
    opened = Writer("A", properties)
    await opened.start()
    yield opened
    await opened.close()
    left = [each for each in asyncio.all_tasks() - before if "FencedBroker" not in repr(each)]
    if left:  # A pause before something is sent again ends by itself.
        await asyncio.wait(left)
    gc.collect()
    assert told == []


async def _are_given_up(*writing: asyncio.Task[object]) -> None:
    for each in writing:
        with pytest.raises(Unavailable, match="the producer was closed"):
            await each


def _one(opened: Writer) -> asyncio.Task[Any]:
    return asyncio.create_task(opened.send(LED, b"k", b"v", partition=0))


def _batches(opened: Writer) -> asyncio.Task[Any]:
    large = (b"k", b"v" * 10_000)
    return asyncio.create_task(opened.send_all(LED, [large, large], partition=0))


def _all(opened: Writer) -> asyncio.Task[Any]:
    return asyncio.create_task(opened.send_all(LED, [(b"k", b"v")], partition=0))


def _together(opened: Writer) -> asyncio.Task[Any]:
    return asyncio.create_task(opened.send_together(LED, [Stamped(b"k", b"v")], partition=0))


_KINDS = pytest.mark.parametrize("write", [_one, _batches, _together])


@_KINDS
async def test_a_request_without_an_answer_is_given_up(
    broker: FencedBroker, network: _Network, write: Write
) -> None:
    async with _opened(broker) as opened:
        writing = [write(opened), write(opened)]
        await network.lost[ProduceRequest].wait()
        await opened.close()
        await _are_given_up(*writing)


@_KINDS
@pytest.mark.parametrize(
    ("leader", "known"),
    [
        pytest.param(1, 0, id="nothing is known of the topic"),
        pytest.param(-1, 1, id="nobody leads it"),
        pytest.param(1, 1, id="another one leads it"),
    ],
)
async def test_what_waits_for_metadata_is_given_up(
    broker: FencedBroker, network: _Network, write: Write, leader: int, known: int
) -> None:
    broker.leaders = [leader]
    network.failure = NotLeaderForPartitionError()
    network.passed[MetadataRequest] = known
    async with _opened(broker) as opened:
        writing = write(opened)
        await network.lost[MetadataRequest].wait()
        await opened.close()
        await _are_given_up(writing)


@_KINDS
async def test_what_is_sent_again_and_again_is_given_up(
    broker: FencedBroker, network: _Network, write: Write
) -> None:
    network.failure = KafkaConnectionError()
    async with _opened(broker) as opened:
        writing = write(opened)
        await network.lost[ProduceRequest].wait()
        await opened.close()
        await _are_given_up(writing)


@_KINDS
@pytest.mark.parametrize("retry_ms", [300, 600_000])
async def test_nobody_waits_for_a_long_pause_before_something_is_sent_again(
    broker: FencedBroker,
    network: _Network,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
    retry_ms: int,
) -> None:
    monkeypatch.setattr(abandonable_producer, "WRITER_CLOSE_S", 0.01)
    network.failure = KafkaConnectionError()
    opened = _opened(broker, retry_ms=retry_ms)
    producer = await opened.__aenter__()
    writing = write(producer)
    await network.lost[ProduceRequest].wait()
    served = {each for each in asyncio.all_tasks() if "FencedBroker" in repr(each)}
    await producer.close()
    await _are_given_up(writing)
    await asyncio.wait(served)  # ends with the connections
    if retry_ms < 1_000:
        await opened.__aexit__(None, None, None)


@pytest.mark.parametrize("write", [_one, _all, _together])
async def test_what_is_answered_in_time_is_written(
    broker: FencedBroker, network: _Network, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "WRITER_FLUSH_S", 300)
    async with _opened(broker) as opened:
        writing = [write(opened), write(opened)]
        await network.lost[ProduceRequest].wait()
        closing = asyncio.create_task(opened.close())
        network.may_answer.set()
        await asyncio.gather(closing, *writing)


async def test_nothing_is_told_of_what_is_sent_before_records_end_with_an_error(
    broker: FencedBroker, network: _Network
) -> None:
    def records() -> Iterator[tuple[bytes, bytes]]:
        yield b"k", bytes(10_000)
        yield b"k", bytes(10_000)  # which has the first one sent
        raise ZeroDivisionError

    async with _opened(broker) as opened:
        with pytest.raises(ZeroDivisionError):
            await opened.send_all(LED, records(), partition=0)
        await network.lost[ProduceRequest].wait()


async def test_whose_turn_it_is_not_yet_is_given_up(broker: FencedBroker) -> None:
    waits = asyncio.Event()

    async def turn() -> None:
        waits.set()
        await asyncio.Event().wait()

    opened = Writer("A", {"bootstrap.servers": f"{HOST}:{broker.port}"}, turn=turn)
    await opened.start()
    writing = _one(opened)
    await waits.wait()
    await opened.close()
    await _are_given_up(writing)
