"""Connections: order, silence, nonsense, encryption and sessions that end."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mm2.core.model import TopicName, TopicPartition
from mm2.errors import Unavailable
from mm2.kafka.client_settings import aiokafka_settings
from mm2.kafka.security.log_in import Ask, Credentials
from mm2.kafka.wire.connection import Connection
from mm2.kafka.wire.requests.fetch import FetchRequest
from mm2.kafka.wire.requests.metadata import MetadataRequest
from mm2.kafka.wire.wire_client import WireClient
from tests.support.batches import Plain, write_batch
from tests.support.certificates import PASSWORD, Certified
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually_async
from tests.support.layout import Security
from tests.support.providers import PATIENT
from tests.support.raw import wire
from tests.support.records import create_topic

_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_SESSION_MS = 2000
_VERSIONS = struct.pack(">hi6h", 0, 2, 3, 0, 12, 1, 4, 11)
_NO_METADATA = struct.pack(">ii", 0, 0) + struct.pack(">hi", -1, -1) + struct.pack(">i", 0)

Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def _request(reader: asyncio.StreamReader) -> tuple[int, int]:
    """Key and correlation id of the next request."""
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    key, _, correlation_id = struct.unpack(">hhi", (await reader.readexactly(size))[:8])
    return key, correlation_id


def _answer(writer: asyncio.StreamWriter, correlation_id: int, body: bytes) -> None:
    writer.write(struct.pack(">ii", len(body) + 4, correlation_id) + body)


@asynccontextmanager
async def _connected(peer: Peer, *, timeout_ms: int = 60_000) -> AsyncIterator[Connection]:
    """A connection to a peer that says its versions and then does as ``peer`` does."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, correlation_id = await _request(reader)
        _answer(writer, correlation_id, _VERSIONS)
        await peer(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    connection = Connection("127.0.0.1", port, request_timeout_ms=timeout_ms)
    await connection.connect()
    yield connection
    await connection.close()
    server.close()


async def test_a_broker_that_hangs_up_fails_all_who_wait() -> None:
    async def peer(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await _request(reader)
        await _request(reader)

    async with _connected(peer) as connection:
        answers = [connection.send(MetadataRequest(())) for _ in range(2)]
        failures = await asyncio.gather(*answers, return_exceptions=True)
        assert ["closed" in str(failure) for failure in failures] == [True, True]
        assert not connection.connected()


async def test_answers_out_of_order_close_the_connection() -> None:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, first = await _request(reader)
        _answer(writer, first + 1, _NO_METADATA)
        await reader.read()

    async with _connected(peer) as connection:
        with pytest.raises(Exception, match=r"closed: .* not asked"):
            await connection.send(MetadataRequest(()))


async def test_an_answer_that_cannot_be_read_closes_the_connection() -> None:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, first = await _request(reader)
        _answer(writer, first, b"\0\0")
        await reader.read()

    async with _connected(peer) as connection:
        with pytest.raises(Exception, match="closed: "):
            await connection.send(MetadataRequest(()))
        assert not connection.connected()


async def test_what_waits_behind_a_throttled_request_does_not_time_out() -> None:
    """KIP-219: the broker reads nothing more until the time that it said is over."""

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, first = await _request(reader)
        _answer(writer, first, struct.pack(">ihii", 10_000, 0, 0, 0))
        await asyncio.sleep(1.3)
        _, second = await _request(reader)
        _answer(writer, second, struct.pack(">ihii", 0, 0, 0, 0))

    request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1, read_committed=False, topics={})
    async with _connected(peer, timeout_ms=1000) as connection:
        answers = await asyncio.gather(connection.send(request), connection.send(request))
        assert [answer.answer.throttle_ms for answer in answers] == [10_000, 0]


async def test_a_connection_that_swallows_questions_is_closed_though_nobody_waits_any_more() -> (
    None
):
    """Who comes next would wait for nothing as well."""

    async def peer(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with _connected(peer, timeout_ms=100) as connection:

        async def is_closed() -> bool:
            return not connection.connected()

        asking = asyncio.ensure_future(connection.send(MetadataRequest(())))
        await asyncio.sleep(0)
        asking.cancel()
        await eventually_async(is_closed)


async def test_small_requests_are_sent_at_once(cluster_a: Cluster) -> None:
    host, port = cluster_a.bootstrap.split(",")[0].split(":")
    connection = Connection(host, int(port))
    await connection.connect()
    assert connection._transport is not None
    sock = connection._transport.get_extra_info("socket")
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    await connection.close()


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KafkaCluster, Path]]:
    """A cluster with SASL sessions that end soon, and with TLS; and the store of its authority."""
    folder = tmp_path_factory.mktemp("certificates")
    authority = Certified.authority("authority")
    trusted = authority.truststore(folder / "trust.p12")
    security = Security(
        users={"alice": "alice-secret"},
        keystore=authority.issue("broker").keystore(folder / "broker.p12", authority),
        keystore_password=PASSWORD,
    )
    properties = {"connections.max.reauth.ms": str(_SESSION_MS), **PATIENT}
    with KafkaCluster("secured", security=security, properties=properties) as cluster:
        yield cluster, trusted


@pytest.mark.broker
async def test_a_silent_broker_is_given_up_and_asked_again_on_a_new_connection(
    secured: tuple[KafkaCluster, Path], topic_name: str
) -> None:
    cluster, _ = secured
    create_topic(cluster.bootstrap, topic_name)
    properties = {"bootstrap.servers": cluster.bootstrap, "request.timeout.ms": "1000"}
    async with _client(properties, topic_name) as client:
        node = await _leader(client, topic_name)
        sent = [(topic_name, 0, write_batch([Plain(value=b"v" * 10_000)]))]
        await _produced(client, node, sent)
        cluster.pause()
        with pytest.raises(Unavailable, match="does not answer"):
            await client.produce(node, sent, timeout_ms=500)
        with pytest.raises(Unavailable, match="not ready"):
            await client.produce(node, sent, timeout_ms=500)
        cluster.resume()
        await _produced(client, node, sent)


async def _produced(client: WireClient, node: int, sent: list[tuple[str, int, bytes]]) -> None:
    """Also where the machine is too busy for an answer in time."""
    await eventually_async(
        lambda: client.produce(node, sent, timeout_ms=500),
        until=lambda answer: [partition.error for partition in answer.partitions] == [0],
    )


@pytest.mark.broker
async def test_a_session_is_renewed_on_its_connection_before_it_ends(
    secured: tuple[KafkaCluster, Path], topic_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, _ = secured
    logins: list[object] = []
    login = Credentials.log_in

    async def counted(credentials: Credentials, ask: Ask) -> None:
        logins.append(getattr(ask, "__self__", None))  # the connection
        await login(credentials, ask)

    monkeypatch.setattr(Credentials, "log_in", counted)
    create_topic(cluster.bootstrap, topic_name)
    properties = {
        "bootstrap.servers": cluster.listeners("SASL_PLAINTEXT"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{_SCRAM} required username="alice" password="alice-secret";',
    }
    loop = asyncio.get_running_loop()
    async with _client(properties, topic_name) as client:
        node = await _leader(client, topic_name)

        async def most_logins() -> int:
            await client.fetch(node, _fetch(topic_name, 100))
            return max(logins.count(each) for each in logins if isinstance(each, Connection))

        # Where the machine stands still, the broker ends a session, and another one begins.
        begun = loop.time()
        times = await eventually_async(most_logins, until=lambda most: most >= 3)
        assert times - 1 <= (loop.time() - begun) / (_SESSION_MS / 2_000) + 1, "not all the time"


@pytest.mark.broker
async def test_large_batches_pass_through_tls(
    secured: tuple[KafkaCluster, Path], topic_name: str
) -> None:
    cluster, trusted = secured
    create_topic(cluster.bootstrap, topic_name)
    properties = {
        "bootstrap.servers": cluster.listeners("SSL"),
        "security.protocol": "SSL",
        "ssl.truststore.location": str(trusted),
        "ssl.truststore.password": PASSWORD,
    }
    async with _client(properties, topic_name) as client:
        await _comes_back_unchanged(client, topic_name)


@pytest.mark.broker
async def test_large_batches_come_back_unchanged(cluster_a: Cluster, topic_name: str) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    async with wire(cluster_a.bootstrap, topic_name) as client:
        await _comes_back_unchanged(client, topic_name)


@asynccontextmanager
async def _client(properties: dict[str, str], topic: str) -> AsyncIterator[WireClient]:
    client = WireClient("secured", aiokafka_settings(properties))
    try:
        # Some have only a second for each answer, which a busy machine may need longer for.
        await eventually_async(client.start, until=lambda _: True)
        await eventually_async(lambda: client.track([topic]), until=lambda _: True)
        yield client
    finally:
        await client.close()


async def _leader(client: WireClient, topic: str) -> int:
    """The leader of a new topic, once it knows that it is."""

    async def leader() -> int | None:
        await client.refresh()
        node = client.leader(TopicPartition(TopicName(topic), 0))
        if node is None or (await client.fetch(node, _fetch(topic, 0))).partitions[0].error:
            return None
        return node

    return await eventually_async(leader, until=lambda node: node is not None) or 0


async def _comes_back_unchanged(client: WireClient, topic: str) -> None:
    node = await _leader(client, topic)
    batches = [
        write_batch([Plain(value=bytes([n % 251]) * size)], leader_epoch=-1)
        for n, size in enumerate((1, 900_000, 10, 4096, 500_000, 17_000))
    ]
    answers = await asyncio.gather(
        *(client.produce(node, [(topic, 0, batch)], timeout_ms=5000) for batch in batches)
    )
    assert [answer.partitions[0].base_offset for answer in answers] == list(range(len(batches)))
    (fetched,) = (await client.fetch(node, _fetch(topic, 1000))).partitions
    # The broker sets the base offset and the leader epoch, which the checksum does not cover.
    assert [data[16:] for data in _split(bytes(fetched.records))] == [b[16:] for b in batches]


def _split(records: bytes) -> Iterator[bytes]:
    while records:
        size = 12 + struct.unpack_from(">i", records, 8)[0]
        yield records[:size]
        records = records[size:]


def _fetch(topic: str, wait_ms: int) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=64 << 20,
        read_committed=False,
        topics={topic: [(0, 0, 64 << 20)]},
    )
