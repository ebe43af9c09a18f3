"""
Small topics are written, read to their end, and followed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import pytest

from mm2.demo.broker_settings import free_ports
from mm2.errors import AuthenticationFailed, Unavailable
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import Refused
from mm2.kafka.logs.log_tail import LogTail
from mm2.kafka.logs.read_log import Record, read_to_end
from mm2.kafka.writer import Writer
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import PATIENCE_S, eventually_async
from tests.support.layout import Security
from tests.support.raw import log_of
from tests.support.records import Sample, create_topic, produce, produce_transaction

pytestmark = pytest.mark.broker


@pytest.fixture
def properties(cluster_a: Cluster) -> dict[str, str]:
    # A data producer's settings serve as well: what is not a reader's business is left out.
    return {
        "bootstrap.servers": cluster_a.bootstrap,
        "acks": "all",
        "max.block.ms": str(2**63 - 1),
        "client.id": "A->B|test",
    }


@pytest.fixture
async def writer(properties: dict[str, str]) -> AsyncIterator[Writer]:
    async with Writer("A", properties) as writer:
        yield writer


@pytest.mark.parametrize(("batch_bytes", "in_a_batch"), [(16 << 10, 16), (256 << 10, 100)])
async def test_many_records_go_far_in_few_batches(
    cluster_a: Cluster,
    properties: dict[str, str],
    topic_name: str,
    batch_bytes: int,
    in_a_batch: int,
) -> None:
    """Each batch takes the time to the cluster and back."""
    create_topic(cluster_a.bootstrap, topic_name)
    async with Writer("A", properties, batch_bytes=batch_bytes) as writer:
        records = [(b"%d" % n, bytes(1_000)) for n in range(100)]
        await writer.send_all(topic_name, records, partition=0)
    log = await asyncio.to_thread(log_of, cluster_a.bootstrap, topic_name)
    assert [batch.base_offset for batch in log] == list(range(0, 100, in_a_batch))


async def test_what_is_written_is_read_in_order(
    cluster_a: Cluster, properties: dict[str, str], writer: Writer, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name, partitions=2)
    assert await writer.send(topic_name, b"k", b"1", partition=0, timestamp_ms=5) == 0
    assert await writer.send(topic_name, b"k", None, partition=0) == 1
    assert await writer.send(topic_name, None, b"3", partition=1, headers=[("h", b"x")]) == 0

    records = await read_to_end("A", properties, topic_name)
    by_partition = {n: [r for r in records if r.partition == n] for n in (0, 1)}
    assert [(r.offset, r.key, r.value) for r in by_partition[0]] == [
        (0, b"k", b"1"),
        (1, b"k", None),
    ]
    assert by_partition[0][0].timestamp_ms == 5
    assert by_partition[1][0].headers == (("h", b"x"),)
    assert await read_to_end("A", properties, topic_name, partitions=[1]) == by_partition[1]


async def test_sends_at_the_same_time_keep_their_order(
    cluster_a: Cluster, properties: dict[str, str], writer: Writer, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    async with asyncio.TaskGroup() as group:
        for number in range(200):
            group.create_task(writer.send(topic_name, None, b"%d" % number, partition=0))
    records = await read_to_end("A", properties, topic_name)
    assert [int(r.value or b"") for r in records] == list(range(200))


async def test_an_empty_topic_has_no_records(
    cluster_a: Cluster, properties: dict[str, str], topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name, partitions=3)
    assert await read_to_end("A", properties, topic_name) == []


async def test_the_end_is_found_behind_an_aborted_transaction(
    cluster_a: Cluster, properties: dict[str, str], topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    produce(cluster_a.bootstrap, topic_name, [Sample(value=b"yes")])
    produce_transaction(cluster_a.bootstrap, topic_name, [Sample(value=b"no")], commit=False)
    records = await read_to_end("A", properties, topic_name, timeout=PATIENCE_S)
    assert [r.value for r in records] == [b"yes"]


async def test_a_topic_created_a_moment_later_is_waited_for(
    cluster_a: Cluster, properties: dict[str, str], topic_name: str
) -> None:
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(read_to_end("A", properties, topic_name))
        await asyncio.sleep(0.5)
        await asyncio.to_thread(create_topic, cluster_a.bootstrap, topic_name, 2)
    assert reading.result() == []


async def test_a_topic_that_never_comes_is_an_error(
    properties: dict[str, str], topic_name: str
) -> None:
    with pytest.raises(Unavailable, match=topic_name):
        await read_to_end("A", properties, topic_name, timeout=1)


async def test_a_record_too_large_is_refused(
    cluster_a: Cluster, writer: Writer, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name, configs={"max.message.bytes": "1000"})
    with pytest.raises(Refused) as caught:
        await writer.send(topic_name, None, b"x" * 5000, partition=0)
    assert not caught.value.retriable


async def test_a_tail_catches_up_and_then_follows(
    cluster_a: Cluster, properties: dict[str, str], writer: Writer, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    await writer.send(topic_name, b"k", b"old", partition=0)
    tail = LogTail("A", properties, topic_name)
    assert not tail.caught_up.is_set()
    records: asyncio.Queue[Record] = asyncio.Queue()
    following = asyncio.create_task(_copy(tail, records), name="following")
    async with asyncio.timeout(60):
        assert (await records.get()).value == b"old"
        await tail.caught_up.wait()
        await writer.send(topic_name, b"k", b"new", partition=0)
        assert (await records.get()).value == b"new"
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def test_a_tail_that_rests_misses_nothing(
    cluster_a: Cluster, properties: dict[str, str], writer: Writer, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    tail = LogTail("A", properties, topic_name, rest_s=0.3)
    records: asyncio.Queue[Record] = asyncio.Queue()
    following = asyncio.create_task(_copy(tail, records), name="following")
    values = [b"%d" % number for number in range(20)]
    async with asyncio.timeout(60):
        await tail.caught_up.wait()
        for value in values:
            await writer.send(topic_name, b"k", value, partition=0)
        assert [(await records.get()).value for _ in values] == values
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def test_a_tail_can_begin_at_the_end(
    cluster_a: Cluster, properties: dict[str, str], writer: Writer, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    await writer.send(topic_name, b"k", b"old", partition=0)
    tail = LogTail("A", properties, topic_name, from_end=True)
    records: asyncio.Queue[Record] = asyncio.Queue()
    following = asyncio.create_task(_copy(tail, records), name="following")
    async with asyncio.timeout(60):
        await tail.caught_up.wait()
        await writer.send(topic_name, b"k", b"new", partition=0)
        assert (await records.get()).value == b"new"
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def test_a_tail_outlives_its_broker_with_no_record_twice_or_missed(topic_name: str) -> None:
    with KafkaCluster("tail") as cluster:
        properties = {"bootstrap.servers": cluster.bootstrap, "request.timeout.ms": "3000"}
        create_topic(cluster.bootstrap, topic_name)
        produce(cluster.bootstrap, topic_name, [Sample(value=b"%d" % n) for n in range(5)])
        records: asyncio.Queue[Record] = asyncio.Queue()
        tail = LogTail("A", properties, topic_name)
        following = asyncio.create_task(_copy(tail, records), name="following")
        async with asyncio.timeout(4 * PATIENCE_S):  # a broker starts again meanwhile
            await tail.caught_up.wait()
            await asyncio.to_thread(cluster.kill)
            await asyncio.to_thread(cluster.restart)
            more = [Sample(value=b"%d" % n) for n in range(5, 10)]
            await asyncio.to_thread(produce, cluster.bootstrap, topic_name, more)
            read = [await records.get() for _ in range(10)]
        assert [int(r.value or b"") for r in read] == list(range(10))
        assert records.empty()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_an_empty_topic_is_read_at_once(
    cluster_a: Cluster, properties: dict[str, str], topic_name: str
) -> None:
    """No fetch is waited for (500 ms) when the end is the beginning."""
    create_topic(cluster_a.bootstrap, topic_name, partitions=25)

    async def took_s() -> float:
        started = time.monotonic()
        assert await read_to_end("A", properties, topic_name) == []
        return time.monotonic() - started

    # With a fetch in it no read would ever be faster; without, a busy machine may make some slow.
    await eventually_async(took_s, until=lambda seconds: seconds < 0.5)


async def test_a_writer_closes_while_its_cluster_is_away(topic_name: str) -> None:
    """What cannot be written is given up, and nobody waits for it any longer."""
    with KafkaCluster("writer") as cluster:
        create_topic(cluster.bootstrap, topic_name)
        for away in (cluster.kill, cluster.pause):
            await _close_while(away, cluster, topic_name)
            await asyncio.to_thread(cluster.resume)
            await asyncio.to_thread(cluster.restart)


async def _close_while(away: Callable[[], None], cluster: KafkaCluster, topic: str) -> None:
    before = asyncio.all_tasks()
    async with asyncio.timeout(90):
        writer = Writer("A", {"bootstrap.servers": cluster.bootstrap})
        await writer.start()
        await writer.send(topic, None, b"there", partition=0)
        await asyncio.to_thread(away)
        waiting = asyncio.create_task(writer.send(topic, None, b"away", partition=0))
        await asyncio.sleep(0.5)
        started = time.monotonic()
        await writer.close()
        assert time.monotonic() - started < 25
        with pytest.raises(Unavailable):
            await waiting

    async def left() -> set[asyncio.Task[object]]:
        return asyncio.all_tasks() - before

    await eventually_async(left, until=lambda tasks: not tasks)


async def test_a_refused_log_in_is_told_from_an_absent_cluster() -> None:
    """aiokafka itself says the same of both."""
    with KafkaCluster("login", security=Security(users={"alice": "right"})) as cluster:
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        jaas = f"{module} required username=alice password=wrong;"
        properties = {
            "bootstrap.servers": cluster.listeners("SASL_PLAINTEXT"),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": jaas,
        }
        admin = Admin("L", properties)
        with pytest.raises(AuthenticationFailed, match="cluster L"):
            await Writer("L", properties).start()
        with pytest.raises(AuthenticationFailed, match="cluster L"):
            await read_to_end("L", properties, "any")
        with pytest.raises(AuthenticationFailed, match="cluster L"):
            await admin.list_group_offsets("any")
        await admin.close()


async def test_nobody_there_is_unavailable() -> None:
    (port,) = free_ports(1)
    properties = {"bootstrap.servers": f"127.0.0.1:{port}", "request.timeout.ms": "2000"}
    started = time.monotonic()
    with pytest.raises(Unavailable, match="cluster X"):
        async with Writer("X", properties):
            pass
    with pytest.raises(Unavailable, match="cluster X"):
        await read_to_end("X", properties, "any")
    assert time.monotonic() - started < 30


async def _copy(tail: LogTail, records: asyncio.Queue[Record]) -> None:
    async for record in tail:
        records.put_nowait(record)
