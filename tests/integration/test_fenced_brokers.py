"""A cluster of which no broker serves is one that cannot be reached, whatever still answers."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from confluent_kafka.admin import AdminClient

from mm2.cli.mm2 import main
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.admin import Admin
from mm2.kafka.client_settings import aiokafka_settings
from mm2.kafka.logs.first_records import first_records
from mm2.kafka.logs.read_log import read_to_end
from mm2.kafka.wire.wire_client import WireClient
from mm2.kafka.writer import Writer
from tests.support.cluster import KafkaCluster
from tests.support.eventually import eventually
from tests.support.mirror import properties
from tests.support.records import create_topic

_METADATA, _API_VERSIONS = 3, 18
_VERSIONS = struct.pack(">hi6h", 0, 2, _METADATA, 3, 7, _API_VERSIONS, 0, 0)
_NOBODY = struct.pack(">iihii", 0, 0, -1, -1, 0)
"""No brokers, no id, no controller, no topics."""


@asynccontextmanager
async def _fenced() -> AsyncIterator[dict[str, str]]:
    """Properties of a client of a broker that knows of no broker."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                key, _, number = struct.unpack(">hhi", (await reader.readexactly(size))[:8])
                body = _VERSIONS if key == _API_VERSIONS else _NOBODY
                writer.write(struct.pack(">ii", len(body) + 4, number) + body)
        except asyncio.IncompleteReadError:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield {
            "bootstrap.servers": f"127.0.0.1:{server.sockets[0].getsockname()[1]}",
            "default.api.timeout.ms": "1000",
        }
    finally:
        server.close()


async def _coordinator(client: dict[str, str]) -> object:
    """It is looked for at any broker."""
    admin = Admin("A", client)
    try:
        found = (await admin.list_offsets_of_groups(["g"]))["g"]
    finally:
        await admin.close()
    if isinstance(found, ClusterError):
        raise found
    return found


async def _connect(client: dict[str, str]) -> None:
    wire = WireClient("A", aiokafka_settings(client))
    try:
        await wire.start()
    finally:
        await wire.close()


async def _read(client: dict[str, str]) -> object:
    return await read_to_end("A", client, "t")


async def _peek(client: dict[str, str]) -> object:
    ranges = {TopicPartition(TopicName("t"), 0): (0, 1)}
    return await first_records("A", client, ranges, read_committed=True)


async def _write(client: dict[str, str]) -> object:
    async with Writer("A", client) as writer:
        return await writer.send("t", b"k", b"v")


@pytest.mark.parametrize("call", [_coordinator, _connect, _read, _peek, _write])
async def test_clients_say_that_it_cannot_be_reached(
    call: Callable[[dict[str, str]], Awaitable[object]],
) -> None:
    """Looking for a coordinator failed with aiokafka's AssertionError; topics seemed missing."""
    async with _fenced() as client:
        with pytest.raises(Unavailable, match="the cluster cannot be reached: whoever answers"):
            await call(client)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """A flow between clusters whose only broker has been fenced, for it is not heard any more."""
    silent = {"broker.heartbeat.interval.ms": "600000", "broker.session.timeout.ms": "6000"}
    with KafkaCluster("F", properties=silent) as cluster:
        create_topic(cluster.bootstrap, "t")
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        eventually(lambda: not admin.list_topics(timeout=10).brokers)
        settings = {
            "A->B.enabled": "true",
            "default.api.timeout.ms": "4000",
            "request.timeout.ms": "3000",
        }
        path = tmp_path / "mm2.properties"
        path.write_text(properties({"A": cluster.bootstrap, "B": cluster.bootstrap}, settings))
        yield path


_COMMANDS = (
    "checkpoints {file} --flow A->B",
    "config explain {file} --live",
    "dump heartbeats --config {file} --cluster B",
    "failback plan {file} --flow A->B --group g",
    "failover plan {file} --flow A->B --group g",
    "flows alter {file} tasks.max=2 --flow A->B --execute",
    "flows limit {file} 1000 --flow A->B --execute",
    "flows pause {file} --flow A->B",
    "flows restart {file} --flow A->B",
    "flows resume {file} --flow A->B",
    "flows show {file} --flow A->B",
    "flows stop {file} --flow A->B",
    "groups {file} --flow A->B --group g",
    "heartbeats {file}",
    "hops {file}",
    "offsets alter {file} --flow A->B --topic t:0 --to-offset 0 --execute",
    "offsets list {file} --flow A->B",
    "offsets reset {file} --flow A->B --all-topics --execute",
    "status {file}",
    "sync-groups {file} --flow A->B --group g",
    "translate {file} --flow A->B --group g",
)


@pytest.mark.broker
@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_commands_say_that_it_cannot_be_reached(file: Path) -> None:
    found = {}
    for command in _COMMANDS:
        words = [word.format(file=file) for word in command.split()]
        result = CliRunner().invoke(main, words)
        if result.exit_code != 3 or "cluster" not in result.stderr:
            found[command] = (result.exit_code, result.exception, result.stderr)
    assert found == {}
