"""Questions to a cluster end in time, and one broker that is lost is not the whole cluster."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from mm2.demo.broker_settings import HOST
from mm2.errors import Unavailable
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.wire.requests.metadata import MetadataRequest
from tests.support.fenced_broker import HELD, FencedBroker, fenced_broker

_NOBODY = 1
"""A port where nobody listens."""

_NOT_HELD_UP_S = 30.0


@pytest.fixture(autouse=True)
def _who_is_silent_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for that one would not be let go on by a time-out before the test is over."""
    monkeypatch.setattr("mm2.kafka.wire.nodes._CONNECT_WITHIN_S", 10 * _NOT_HELD_UP_S)


def _link(broker: FencedBroker) -> ClusterClient:
    return ClusterClient("F", {"bootstrap.servers": f"127.0.0.1:{broker.port}"})


async def _connected(broker: FencedBroker) -> ClusterClient:
    broker.is_fenced = False
    link = _link(broker)
    await link.send(None, "ask for brokers", MetadataRequest(()))
    return link


async def test_who_is_cancelled_while_a_connection_is_closed_ends() -> None:
    async with fenced_broker() as broker:
        link = await _connected(broker)
        closing = asyncio.create_task(link.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait({closing})
        assert closing.cancelled()


async def test_who_asks_ends_although_an_attempt_takes_the_deadline_for_its_own() -> None:
    link, attempts = ClusterClient("F", {"bootstrap.servers": "127.0.0.1:1"}), 0

    async def attempt() -> None:
        nonlocal attempts
        attempts += 1
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        raise Unavailable("F", "it is closed")

    with pytest.raises(Unavailable, match="it is closed"):
        await link.retry("ask", attempt, within_s=0.1)
    assert attempts == 1


async def test_a_broker_that_is_lost_does_not_end_what_others_are_asked() -> None:
    async with fenced_broker() as broker:
        broker.others = {2: _NOBODY}
        link = await _connected(broker)
        link.nodes |= {"of 1": 1, "of 2": 2}
        asking = asyncio.create_task(link.send(1, "ask", MetadataRequest([HELD])))
        await broker.held.wait()

        with pytest.raises(Unavailable):
            await link.send(2, "ask", MetadataRequest(()))

        assert link.nodes == {"of 1": 1}
        broker.may_answer.set()
        assert [each.node for each in (await asking).brokers] == [1, 2]
        await link.close()


async def test_who_runs_out_of_time_closes_nothing_that_others_wait_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mm2.kafka.cluster_client._SIGN_OF_LIFE_WITHIN_S", _NOT_HELD_UP_S)
    async with fenced_broker() as broker, await _silent() as mute:
        broker.others = {2: _port(mute)}
        link = await _connected(broker)
        asking = asyncio.create_task(link.send(1, "ask", MetadataRequest([HELD])))
        await broker.held.wait()

        async def attempt() -> object:
            return await link.send(2, "ask", MetadataRequest(()))

        with pytest.raises(Unavailable, match=r"no answer from .* within 0\.01 s"):
            await link.retry("ask", attempt, within_s=0.01)

        assert await link.send(None, "ask", MetadataRequest(()))
        broker.may_answer.set()
        assert len((await asking).brokers) == 2
        await link.close()


async def test_after_a_silence_of_all_brokers_the_cluster_is_looked_for_anew() -> None:
    """Brokers may have other addresses now, and whoever has the old ones says nothing."""
    async with fenced_broker() as broker:
        link = await _connected(broker)
        link.nodes |= {"of 1": 1}

        with pytest.raises(Unavailable, match=r"no answer from .* within 0\.01 s"):
            await link.retry("ask", asyncio.Event().wait, within_s=0.01)
        assert link.nodes == {"of 1": 1}, "nothing is known yet"

        broker.is_fenced = True
        with pytest.raises(Unavailable, match="knows of no broker"):
            await link.send(None, "ask", MetadataRequest(()))
        assert link.nodes == {}


async def test_everything_is_forgotten_when_no_broker_serves_any_more() -> None:
    async with fenced_broker() as broker:
        broker.others = {2: _NOBODY}
        link = await _connected(broker)
        link.nodes |= {"of 1": 1, "of 2": 2}
        broker.is_fenced = True

        with pytest.raises(Unavailable):
            await link.send(2, "ask", MetadataRequest(()))

        assert link.nodes == {}
        await link.close()


async def test_what_any_broker_knows_is_asked_of_the_next_if_one_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with fenced_broker() as broker, await _silent() as mute:
        broker.others = {0: _port(mute)}
        monkeypatch.setattr("random.shuffle", list.sort)
        monkeypatch.setattr("random.choice", min)
        monkeypatch.setattr("mm2.kafka.wire.nodes._NEXT_AFTER_S", 0.01)
        link = await _connected(broker)

        async with asyncio.timeout(_NOT_HELD_UP_S):
            answer = await link.send(None, "ask", MetadataRequest(()))

        assert len(answer.brokers) == 2
        await link.close()


async def test_a_bootstrap_server_that_is_silent_does_not_hold_up_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with fenced_broker() as broker, await _silent() as mute:
        broker.is_fenced = False
        ports = [_port(mute), broker.port]
        monkeypatch.setattr("random.shuffle", list)
        monkeypatch.setattr("mm2.kafka.wire.nodes._NEXT_AFTER_S", 0.01)
        servers = ",".join(f"{HOST}:{port}" for port in ports)
        link = ClusterClient("F", {"bootstrap.servers": servers})

        async def attempt() -> object:
            return await link.send(None, "ask", MetadataRequest(()))

        assert await link.retry("ask", attempt, within_s=30)
        await link.close()


async def test_a_node_that_let_somebody_wait_is_the_last_to_be_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with fenced_broker() as broker, await _silent() as mute:
        broker.others = {0: _port(mute)}
        monkeypatch.setattr("random.shuffle", list.sort)
        monkeypatch.setattr("mm2.kafka.wire.nodes._NEXT_AFTER_S", 0.01)
        link = await _connected(broker)
        await link.send(None, "ask", MetadataRequest(()))

        monkeypatch.setattr("mm2.kafka.wire.nodes._NEXT_AFTER_S", 2 * _NOT_HELD_UP_S)
        async with asyncio.timeout(_NOT_HELD_UP_S):
            assert await link.send(None, "ask", MetadataRequest(()))
        await link.close()


async def test_a_silent_node_that_serves_no_more_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its controllers have given it up; what it had, others have now."""
    monkeypatch.setattr("mm2.kafka.wire.connection._LOOK_EVERY_S", 0.02)
    monkeypatch.setattr("mm2.kafka.wire.connection.SILENT_AFTER_S", 0.01)
    monkeypatch.setattr("mm2.kafka.wire.nodes._NEXT_AFTER_S", 0.01)
    async with fenced_broker() as broker, fenced_broker() as other:
        broker.others = {2: other.port}
        other.is_fenced = False
        link = await _connected(broker)
        asking = asyncio.create_task(link.send(2, "ask", MetadataRequest([HELD])))
        await other.held.wait()
        broker.others = {}

        with pytest.raises(Unavailable, match="closed"):
            await asking
        assert await link.send(1, "ask", MetadataRequest(()))
        await link.close()


async def _silent() -> asyncio.Server:
    return await asyncio.start_server(_say_nothing, HOST, 0)


def _port(server: asyncio.Server) -> int:
    return int(server.sockets[0].getsockname()[1])


async def _say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()
