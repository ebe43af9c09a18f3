"""What is decided about a batch that the target refuses."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import cast

import pytest
from structlog.testing import capture_logs

from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.forward.record_batch import HEADER_SIZE
from flows.source.forward.record_body import DecodedRecord
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.outgoing_batch import BatchOwner, OutgoingBatch, SendState
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from flows.source.send.transaction_gate import TransactionGate
from mm2.config.connector_settings import ErrorSettings
from mm2.core.model import TopicName, TopicPartition
from mm2.core.positions.log_identity import Lineage
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.wire_client import WireClient
from tests.support.batches import Plain, write_batch
from tests.support.fake_broker import FakeCluster, Trouble
from tests.support.specs import error_settings
from tests.support.virtual_time import run

_SOURCE = TopicPartition(TopicName("t"), 0)
_TARGET = TopicPartition(TopicName("A.t"), 0)
_BATCH = write_batch([Plain(offset=0, timestamp=3, key=b"k", value=b"v")])


def _producer(gate: TransactionGate | None = None) -> Producer:
    client = cast("WireClient", FakeCluster([(_TARGET, 0)], lambda: Trouble.NONE))
    return Producer(flow="A->B", client=client, identity=ProducerIdentity(5, 1), gate=gate)


def _policy(
    settings: ErrorSettings, producer: Producer, partition: MirroredPartition
) -> ErrorPolicy:
    return ErrorPolicy(
        settings,
        task=0,
        producer=producer,
        budget=MemoryBudget(1 << 20),
        partitions={_SOURCE: partition},
        changed=lambda: None,
    )


def _refused(
    settings: ErrorSettings, code: int, data: bytes = _BATCH, *, count: int = 1
) -> tuple[SendState, MirroredPartition]:
    partition = MirroredPartition(_SOURCE, PartitionSender(_TARGET))
    partition.fetch.move_to(9)
    tolerance = _policy(settings, _producer(), partition)
    batch = OutgoingBatch(bytearray(data), 0, range(8, 8 + count), 3, len(data))
    return tolerance.refused(partition, partition.sender, batch, code), partition


async def test_without_tolerance_the_partition_stops_and_tries_again_later() -> None:
    verdict, partition = _refused(error_settings(), Code.INVALID_RECORD)
    assert verdict is SendState.STOP
    reason = "the target refuses the record at offset 8 for good: INVALID_RECORD"
    assert (partition.error, partition.retry_at is None) == (reason, False)


@pytest.mark.parametrize("code", [Code.UNSUPPORTED_COMPRESSION_TYPE, 44])
async def test_what_is_no_records_fault_stops_even_a_tolerant_partition(code: int) -> None:
    verdict, partition = _refused(error_settings(tolerates=True), code)
    assert verdict is SendState.STOP
    assert "refuses the batch at offset 8" in (partition.error or "")


async def test_a_refused_record_is_tried_again_for_as_long_as_asked() -> None:
    verdict, partition = _refused(
        error_settings(tolerates=True, retry_timeout=None), Code.INVALID_TIMESTAMP
    )
    assert (verdict, partition.error) == (SendState.RETRY, None)


async def test_no_transaction_waits_until_a_copy_of_a_record_that_has_others_is_taken() -> None:
    """Its partition stops between two tries."""
    partition = MirroredPartition(_SOURCE, PartitionSender(_TARGET))
    other = PartitionSender(TopicPartition(TopicName("other"), 0))
    partition.routed.owners[other] = cast("BatchOwner", None)
    producer = _producer(TransactionGate("id"))
    errors = _policy(error_settings(tolerates=True, retry_timeout=None), producer, partition)
    batch = OutgoingBatch(bytearray(_BATCH), 0, range(8, 9), 3, len(_BATCH))
    verdict = errors.refused(partition, other, batch, Code.INVALID_TIMESTAMP)
    assert verdict is SendState.STOP
    assert partition.retry_at is not None


async def test_a_skipped_record_is_logged_with_its_contents_only_if_asked() -> None:
    with capture_logs() as plain:
        _refused(error_settings(tolerates=True), Code.INVALID_RECORD)
    with capture_logs() as full:
        _refused(error_settings(tolerates=True, logs_messages=True), Code.INVALID_RECORD)
    (event,), (told,) = plain, full
    assert (event["event"], event["upstream_offset"]) == ("source.record_skipped", 8)
    assert "key" not in event
    assert (told["key"], told["value"], told["timestamp_ms"]) == ("b'k'", "b'v'", 3)


@pytest.mark.parametrize("cut", [4, 1_000])
async def test_a_refused_batch_that_cannot_be_read_is_skipped_as_its_bytes(cut: int) -> None:
    start = max(HEADER_SIZE, len(_BATCH) - cut)
    data = _BATCH[:start] + b"\xff" * (len(_BATCH) - start)
    with capture_logs() as logged:
        verdict, partition = _refused(
            error_settings(tolerates=True, logs_messages=True), Code.CORRUPT_MESSAGE, data, count=3
        )
    (event,) = logged
    assert (verdict, partition.error) == (SendState.WAIT, None)
    assert event["upstream_offset"] == 8
    assert event["value"] == repr(data)


@pytest.mark.parametrize("is_transactional", [True, False])
async def test_in_a_transaction_a_letter_follows_what_was_sent_before(
    is_transactional: bool,
) -> None:
    partition = MirroredPartition(_SOURCE, PartitionSender(_TARGET))
    partition.fetch.move_to(9)
    partition.fetch.set_bounds(0, 20)
    producer = _producer(TransactionGate("id") if is_transactional else None)
    policy = _policy(error_settings(tolerates=True), producer, partition)
    damaged = memoryview(write_batch([Plain(offset=9)]))
    producer.send(partition.sender, _BATCH, [8])
    with capture_logs() as logged:
        policy.unreadable(partition, damaged, "why")
        assert bool(logged) is not is_transactional
        assert partition.fetch.is_held is not is_transactional
        producer.drop(partition.sender)
        policy.unreadable(partition, damaged, "why")
    assert "source.record_skipped" in {each["event"] for each in logged}
    assert partition.fetch.is_held


async def test_in_a_transaction_no_letter_is_written_of_a_partition_that_was_given_up() -> None:
    ours, given_up = (MirroredPartition(_SOURCE, PartitionSender(_TARGET)) for _ in range(2))
    given_up.fetch.move_to(10)
    policy = _policy(error_settings(tolerates=True), _producer(TransactionGate("id")), ours)
    with capture_logs() as logged:
        await policy.failed_transform(given_up, DecodedRecord(9, 0, b""), "why")
    assert logged == []
    assert given_up.fetch.position == 9


def _in_a_transaction() -> tuple[MirroredPartition, OutgoingBatch]:
    """A partition that is committed up to 4, and has a batch up to 9 in the open transaction."""
    partition = MirroredPartition(_SOURCE, PartitionSender(_TARGET))
    partition.continue_from(4, Lineage())
    batch = OutgoingBatch(bytearray(), 0, range(5, 10), 0, 0)
    partition.landed(batch)
    return partition, batch


def test_what_an_aborted_transaction_had_is_met_again_with_what_was_skipped_behind() -> None:
    partition, landed = _in_a_transaction()
    partition.fetch.move_to(11)
    partition.skip(OutgoingBatch(bytearray(), 0, range(10, 11), 0, 0))
    assert partition.progress.mirrored == 10
    partition.undo([landed])
    progress = partition.progress
    assert (progress.mirrored, progress.landed, progress.uncommitted) == (4, 4, 0)
    assert (partition.fetch.position, progress.has_moved) == (5, False)


def test_a_transaction_has_the_position_behind_its_letter_whatever_is_queued_then() -> None:
    partition, landed = _in_a_transaction()
    partition.fetch.move_to(20)
    partition.progress.pass_over(10)
    partition.sender.queue.append(OutgoingBatch(bytearray(), 0, range(11, 20), 0, 0))
    assert partition.reached_after(landed) == 11


def test_stopped_partitions_try_again_when_their_time_has_come_unless_they_were_given_up() -> None:
    async def script() -> list[str | None]:
        there, gone = (
            MirroredPartition(TopicPartition(TopicName("t"), number), PartitionSender(_TARGET))
            for number in range(2)
        )
        partitions = {there.source: there, gone.source: gone}
        tolerance = ErrorPolicy(
            error_settings(retry_delay=timedelta(0)),
            task=0,
            producer=cast("Producer", None),
            budget=MemoryBudget(1 << 20),
            partitions=partitions,
            changed=lambda: None,
        )
        running = asyncio.create_task(tolerance.run())
        errors = []
        for reason in ("once", "again"):
            for partition in (there, gone):
                tolerance.stop(partition, reason)
            partitions.pop(gone.source, None)
            await asyncio.sleep(60)
            errors += [there.error, gone.error]
        running.cancel()
        return errors

    assert run(script()) == [None, "once", None, "again"]
