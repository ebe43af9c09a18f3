"""What a task may still write that was frozen, and whose partitions others have by now."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pytest

from flows.source.forward.recode import encode
from flows.source.forward.record_batch import rewrite_header
from flows.source.forward.record_body import DecodedRecord, keyed_body
from flows.source.send.producer_id import renew_transactional_id
from flows.source.source_task import _run
from mm2.config.flow_config import FlowConfig, flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.connect.offset_records import decode_offset
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.herder.bundles.task_fencing import fence_earlier_tasks, transactional_id
from mm2.kafka.wire.compression import UNCOMPRESSED
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.fencing import fencing_identity, renew
from mm2.kafka.wire.identity import ProducerIdentity, producer_identity
from mm2.kafka.wire.transactional_producer import TransactionLost
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import Assignment, BundleState
from tests.support.bundle import Bench
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import PATIENCE_S, eventually, eventually_async
from tests.support.process import freeze
from tests.support.raw import append_batch, log_of, records_in, wire
from tests.support.records import Sample, committed, create_topic, produce
from tests.support.specs import sample_spec

pytestmark = pytest.mark.broker


async def _append(
    client: WireClient, topic: str, who: ProducerIdentity, *, sequence: int = 0
) -> int:
    """What the broker answers to one plain batch of a producer."""
    data = encode([DecodedRecord(0, 1_700_000_000_000, keyed_body(b"k", b"v"))], UNCOMPRESSED).data
    batch = rewrite_header(data, producer_id=who.producer_id, epoch=who.epoch, sequence=sequence)
    error, _ = await append_batch(client, topic, 0, batch)
    return error


async def test_brokers_refuse_an_earlier_producer_only_where_they_know_of_the_later_one(
    cluster_b: Cluster, unique: str
) -> None:
    """What the broker really enforces; with the markers of an empty transaction it does at once."""
    written, other = (f"{unique}-{number}" for number in range(2))
    for topic in (written, other):
        create_topic(cluster_b.bootstrap, topic)
    async with wire(cluster_b.bootstrap, written, other) as client:
        earlier = await producer_identity(client, unique)
        later = await producer_identity(client, unique)
        assert await _append(client, written, later) == Code.NONE
        assert await _append(client, written, earlier) == Code.INVALID_PRODUCER_EPOCH
        assert await _append(client, other, earlier) == Code.NONE
        missing = TopicPartition(TopicName(f"{unique}-missing"), 0)
        latest = await fencing_identity(
            client,
            unique,
            [TopicPartition(TopicName(other), 0), missing],
            flow="A->B",
            transaction_timeout_ms=10_000,
            within_s=PATIENCE_S,
        )
        assert await _append(client, other, earlier, sequence=1) == Code.INVALID_PRODUCER_EPOCH
        assert await _append(client, other, later) == Code.INVALID_PRODUCER_EPOCH
        assert await _append(client, other, latest) == Code.NONE


async def test_a_transactional_id_is_renewed_between_plain_batches(
    cluster_b: Cluster, unique: str
) -> None:
    create_topic(cluster_b.bootstrap, unique)
    async with wire(cluster_b.bootstrap, unique) as client:
        who = await producer_identity(client, unique)
        for sequence in range(3):
            assert await _append(client, unique, who, sequence=sequence) == Code.NONE
            await renew(client, who, TopicPartition(TopicName(unique), 0), flow="A->B")


async def test_an_id_is_renewed_before_the_target_forgets_it(unique: str) -> None:
    soon = {
        "transactional.id.expiration.ms": "20000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
    }
    with KafkaCluster("E", properties=soon) as cluster:
        create_topic(cluster.bootstrap, unique)
        async with wire(cluster.bootstrap, unique) as client:
            where = TopicPartition(TopicName(unique), 0)
            idle = [await producer_identity(client, f"idle-{n}") for n in range(60)]
            kept = await producer_identity(client, "kept")
            spec = sample_spec(progress_topic=unique)
            renewing = asyncio.create_task(renew_transactional_id(spec, client, kept))

            async def is_one_forgotten() -> bool:
                await asyncio.sleep(1)  # Each look has another id know of itself again.
                try:
                    await renew(client, idle.pop(), where, flow="A->B")
                except TransactionLost:
                    return True
                return False

            await eventually_async(is_one_forgotten)
            assert not renewing.done()
            renewing.cancel()
            await asyncio.wait([renewing])
            again = await producer_identity(client, "kept")
            assert (again.producer_id, again.epoch > kept.epoch) == (kept.producer_id, True)


def _config(unique: str, bootstrap: str) -> FlowConfig:
    raw = {
        "clusters": f"{unique}, B",
        f"{unique}.bootstrap.servers": "nowhere:1",
        "B.bootstrap.servers": bootstrap,
        f"{unique}->B.enabled": "true",
    }
    flow = SourceAndTarget(ClusterAlias(unique), ClusterAlias("B"))
    return flow_config(MirrorMakerConfig(raw=raw), flow)


async def test_a_new_leader_has_tasks_refused_that_were_not_heard_to_end(
    cluster_b: Cluster, unique: str
) -> None:
    """Also in the positions topic, where a stale position would write over a newer one."""
    config = _config(unique, cluster_b.bootstrap)
    remote, positions = f"{unique}.t", config.herder.offsets_topic
    for topic in (remote, positions):
        create_topic(cluster_b.bootstrap, topic)
    async with wire(cluster_b.bootstrap, remote, positions) as client:
        frozen = await producer_identity(client, transactional_id(config, 0))
        ended = await producer_identity(client, transactional_id(config, 1))
        unsure = {0: [TopicPartition(TopicName(remote), 0)], 1: []}
        await fence_earlier_tasks(config, 2, unsure=unsure)
        for topic in (remote, positions):
            assert await _append(client, topic, frozen) == Code.INVALID_PRODUCER_EPOCH
            # Nobody asked: this one said that it has ended.
            assert await _append(client, topic, ended) == Code.NONE


def _copied(bench: Bench, topic: str) -> list[bytes | None]:
    return [sample.value for sample in committed(bench.target.bootstrap, bench.remote(topic))]


def _positions(bench: Bench) -> list[int | None]:
    batches = [
        batch
        for number in range(bench.offsets_partitions)
        for batch in log_of(bench.target.bootstrap, f"{bench.unique}-offsets", partition=number)
    ]
    return [decode_offset(record.value) for record in records_in(batches)]


def _tell(bench: Bench, index: int, generation: int, state: BundleState, *topics: str) -> None:
    remotes = {
        TopicPartition(TopicName(topic), 0): TopicName(bench.remote(topic)) for topic in topics
    }
    assignment = Assignment(
        index=index,
        epoch=bench.epoch,
        generation=generation,
        state=state,
        partitions=remotes,
    )
    bench.tell(*encode_control(assignment))


@contextmanager
def _stopped_then(bench: Bench) -> Iterator[None]:
    """Has the tasks of both bundles end, which threads would go on with if the test fails."""
    try:
        yield
    finally:
        for index in range(2):
            _tell(bench, index, 9, BundleState.STOPPED)


def _work(spec: BundleSpec) -> Mapping[str, int]:
    return asyncio.run(_run(spec))


def test_a_frozen_task_writes_nothing_where_another_bundle_copies_now(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    topic = f"{unique}-t"
    create_topic(cluster_a.bootstrap, topic)
    bench = Bench(cluster_a, cluster_b, unique, {topic: 1})

    def write(*values: bytes) -> None:
        produce(cluster_a.bootstrap, topic, [Sample(value=value) for value in values])

    with bench.detached() as frozen, ThreadPoolExecutor(2) as executor:
        with _stopped_then(bench):
            write(b"0")
            eventually(partial(_positions, bench), until=lambda found: found[-1:] == [0])
            freeze(frozen.pid)
            # The answer to its last fetch waits for it, and it will write what is in it.
            write(b"1", b"2")
            _tell(bench, 0, 2, BundleState.RUNNING)
            remote = TopicPartition(TopicName(bench.remote(topic)), 0)
            spec = replace(bench._spec(bench.epoch), generation=2, unsure=(remote,))
            heir = executor.submit(_work, spec)
            eventually(bench.reports, until=lambda all_: any(each.generation == 2 for each in all_))
            _tell(bench, 1, 3, BundleState.RUNNING, topic)
            other = replace(
                spec, index=1, generation=3, transactional_id=f"{unique}-other", unsure=()
            )
            holder = executor.submit(_work, other)
            eventually(partial(_copied, bench, topic), until=lambda found: len(found) == 3)
            write(b"3")
            eventually(partial(_positions, bench), until=lambda found: found[-1:] == [3])
            told = len(bench.reports())
            frozen.send_signal(signal.SIGCONT)
            # It ends because it is refused, or reads first that it has nothing to write any more.
            eventually(
                lambda: (
                    frozen.poll() is not None
                    or any(each.pid == frozen.pid for each in bench.reports()[told:])
                )
            )
        frozen.wait(PATIENCE_S)
        heir.result(PATIENCE_S)
        holder.result(PATIENCE_S)
    assert _copied(bench, topic) == [b"0", b"1", b"2", b"3"]
    assert _positions(bench)[-1] == 3
    assert _positions(bench) == sorted(_positions(bench), key=lambda each: each or 0)
