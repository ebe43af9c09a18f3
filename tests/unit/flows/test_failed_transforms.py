"""Records that a transform fails for, and batches that it cannot be given."""

from __future__ import annotations

import asyncio
import struct
from datetime import timedelta

import pytest
from crc32c import crc32c

from flows.source.forward.recode import encode
from flows.source.forward.record_batch import HEADER_SIZE
from flows.source.forward.record_body import DecodedRecord, fields_of, keyed_body
from flows.source.send.outgoing_batch import OutgoingBatch, SendState
from flows.source.send.send_queue import STUCK_AFTER, PartitionSender
from mm2.core.handled_records import SourceRecord
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.wire.compression import UNCOMPRESSED
from mm2.kafka.wire.error_codes import Code
from tests.support.batches import read_batch
from tests.support.specs import error_settings
from tests.support.stage_bench import StageBench, numbered
from tests.support.virtual_time import run

_LETTERS = error_settings(tolerates=True, dead_letter_topic="letters")
_RECORD = DecodedRecord(5, 0, keyed_body(None, b"v"))


def _unchanged(record: SourceRecord) -> list[SourceRecord]:
    return [record]


async def test_a_refused_dead_letter_takes_nothing_forward_that_went_back_meanwhile() -> None:
    bench = StageBench(_unchanged, errors=_LETTERS)
    policy, fetch = bench.stage._errors, bench.partition.fetch
    failing = asyncio.create_task(policy.failed_transform(bench.partition, _RECORD, "broken"))
    await asyncio.sleep(0)
    fetch.go_back(2)
    policy.letters._refused(OutgoingBatch(bytearray(), 0, [5], 0, 0), Code.MESSAGE_TOO_LARGE)
    await failing
    assert (fetch.position, bench.partition.error) == (2, None)


async def test_a_dead_letter_counts_only_where_nothing_went_back_meanwhile() -> None:
    bench = StageBench(_unchanged, errors=_LETTERS)
    policy = bench.stage._errors
    for goes_back in (True, False):
        failing = asyncio.create_task(policy.failed_transform(bench.partition, _RECORD, "broken"))
        await asyncio.sleep(0)
        if goes_back:
            bench.partition.fetch.go_back(2)
        policy.letters._delivered()
        await failing
        assert bench.partition.progress.dead_letters == (not goes_back)


async def test_a_partition_is_sent_only_when_its_letters_are() -> None:
    bench = StageBench(_unchanged, errors=_LETTERS)
    policy = bench.stage._errors
    for refused in (True, False):
        failing = asyncio.create_task(policy.failed_transform(bench.partition, _RECORD, "broken"))
        await asyncio.sleep(0)
        assert not bench.partition.is_sent
        if refused:
            batch = OutgoingBatch(bytearray(), 0, [5], 0, 0)
            policy.letters._refused(batch, Code.MESSAGE_TOO_LARGE)
        else:
            policy.letters._delivered()
        await failing
        assert bench.partition.is_sent


async def test_a_body_that_cannot_be_read_is_the_value_of_its_dead_letter() -> None:
    bench = StageBench(_unchanged, errors=_LETTERS)
    policy = bench.stage._errors
    broken = DecodedRecord(5, 0, b"\x01\x7e")
    failing = asyncio.create_task(policy.failed_transform(bench.partition, broken, "broken"))
    await asyncio.sleep(0)
    (letter,) = policy.letters._sender.queue
    assert [each.value for each in read_batch(letter.data)] == [b"\x01\x7e"]
    policy.letters._delivered()
    await failing


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"partition": 0.0}, "0.0 is no partition"),
        ({"partition": 1.5}, "1.5 is no partition"),
        ({"partition": -1}, "-1 is no partition"),
        ({"partition": True}, "True is no partition"),
        ({"timestamp": 1.0}, "1.0 is no timestamp in ms"),
        ({"timestamp": 2**63}, f"{2**63} is no timestamp in ms"),
        ({"value": "text"}, "can't concat str to bytes"),
        ({"headers": None}, "'NoneType' object is not iterable"),
        ({"headers": (("\ud800", b""),)}, "surrogates not allowed"),
        ({"headers": ((b"h", b""),)}, "has no attribute 'encode'"),
    ],
)
async def test_a_handler_s_record_that_cannot_be_written_is_an_error_of_its_record(
    changes: dict[str, object], reason: str
) -> None:
    def wrong(record: SourceRecord) -> list[SourceRecord]:
        return [record.replace(**changes) if record.offset == 1 else record]

    bench = StageBench(wrong)
    await bench.copy(numbered(0, 1, 2))
    assert bench.values == [b"0"]
    assert bench.partition.fetch.position == 1
    assert reason in str(bench.partition.error)


@pytest.mark.parametrize(
    "body",
    [
        b"\x01\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x03",  # 2 ** 62 headers
        b"\x01\x01\x02\x08k",  # a name that is longer than the body
        b"\x01\x7ev",
    ],
)
def test_what_a_body_announces_and_does_not_have_is_an_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"announces|longer|ends"):
        fields_of(body)


async def test_a_batch_that_cannot_be_decoded_is_left_to_the_error_policy() -> None:
    bench = StageBench(_unchanged, errors=error_settings(tolerates=True))
    damaged = bytearray(numbered(0, 1, 2))
    damaged[HEADER_SIZE:] = b"\xff" * (len(damaged) - HEADER_SIZE)
    struct.pack_into(">I", damaged, 17, crc32c(bytes(damaged[21:])))
    async with bench.running():
        for _ in range(10):
            bench.take(bytes(damaged), numbered(3, 4))
            for _ in range(10):
                await asyncio.sleep(0)
            if bench.sent:
                break
            bench.partition.fetch.pause_until = min(bench.partition.fetch.pause_until, 0.0)
    assert bench.values == [b"3", b"4"]
    assert bench.partition.progress.skipped == 3


@pytest.mark.parametrize("error", [Unavailable("elsewhere", "away"), ClusterError("x", "no")])
async def test_an_error_of_a_cluster_that_a_handler_raises_is_not_one_of_the_target(
    error: ClusterError,
) -> None:
    """Which would be waited for without end, or stop the partition."""

    def handle(record: SourceRecord) -> list[SourceRecord]:
        if record.offset == 1:
            raise error
        return [record]

    bench = StageBench(handle, errors=error_settings(tolerates=True))
    await bench.copy(numbered(0, 1, 2))
    assert bench.values == [b"0", b"2"]
    assert bench.partition.progress.skipped == 1


def test_each_of_several_refused_records_has_its_own_time() -> None:
    settings = error_settings(tolerates=True, retry_timeout=timedelta(seconds=0.02))

    async def script() -> list[SendState]:
        bench = StageBench(_unchanged, errors=settings)
        found = []
        for offset in (5, 7, 5, 7):
            batch = OutgoingBatch(bytearray(numbered(offset)), 0, [offset], 0, 0)
            policy = bench.stage._errors
            found.append(policy.refused(bench.partition, bench.sender, batch, Code.INVALID_RECORD))
            if offset == 7:
                policy._refused[bench.partition] = {
                    each: since - 1 for each, since in policy._refused[bench.partition].items()
                }
        return found

    retry, wait = SendState.RETRY, SendState.WAIT
    assert run(script()) == [retry, retry, wait, wait]


async def test_a_stuck_sender_of_others_holds_up_what_is_routed_to_it() -> None:
    bench = StageBench(_unchanged)
    partition = bench.partition
    there = PartitionSender(TopicPartition(TopicName("elsewhere"), 0))
    there.attempts = STUCK_AFTER
    seen = [(partition.is_stuck, partition.is_sent)]
    bench.stage._transform._changed._route(partition, there, encode([_RECORD], UNCOMPRESSED))
    seen.append((partition.is_stuck, partition.is_sent))
    there.queue.clear()
    there.queue.append(OutgoingBatch(bytearray(), 0, [9], 0, 0))  # another partition's
    seen.append((partition.is_stuck, partition.is_sent))
    assert seen == [(False, True), (True, False), (True, True)]
