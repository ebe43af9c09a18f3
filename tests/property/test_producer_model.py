"""
The producer against a cluster in memory that loses, delays and refuses as hypothesis pleases.

Whatever happens, a partition's log is what was sent, in order, each record once (C222).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from hypothesis import example, given, settings
from hypothesis import strategies as st

from flows.source.send.outgoing_batch import OutgoingBatch, SendState
from flows.source.send.producer import Producer
from flows.source.send.send_queue import MAX_IN_FLIGHT, PartitionSender
from flows.source.send.send_recovery import SequenceLost
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import root_cause
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.wire_client import WireClient
from tests.support.batches import Plain, write_batch
from tests.support.fake_broker import POISON, FakeCluster, Trouble
from tests.support.virtual_time import run

EXAMPLES = 300
_MAX_BATCH = 1_000
_TOO_LARGE = b"x" * 1_200
_LAST_SEQUENCE = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """
    What one sender sends.

    Attributes:
        batches: sizes of the records' values, batch by batch.
        pauses_ms: before each batch.
        bad: which record of all is refused for good, and how; None for none.
        skips: whether the sender goes on without it.
        merges: whether batches that wait may become one.
        node: that leads the partition at first.
        sequence: of the first record.
    """

    batches: tuple[tuple[int, ...], ...]
    pauses_ms: tuple[int, ...] = ()
    bad: tuple[int, str] | None = None
    skips: bool = False
    merges: bool = False
    node: int = 0
    sequence: int = 0

    def records(self) -> Iterator[list[Plain]]:
        """The records, batch by batch; each says its number."""
        number = 0
        for sizes in self.batches:
            batch = []
            for size in sizes:
                value = b"%d:" % number + b"x" * size
                record = Plain(offset=number, value=value)
                if self.bad and self.bad[0] == number:
                    record = (
                        Plain(offset=number, key=POISON, value=value)
                        if self.bad[1] == "poison"
                        else Plain(offset=number, value=_TOO_LARGE)
                    )
                batch.append(record)
                number += 1
            yield batch


@dataclass(eq=False)
class Sent:
    """One sender in a run."""

    script: Script
    sender: PartitionSender
    acked: list[OutgoingBatch] = field(default_factory=list)
    refusals: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)


_scripts = st.builds(
    Script,
    batches=st.lists(
        st.lists(st.sampled_from([0, 10, 400]), min_size=1, max_size=5).map(tuple),
        min_size=1,
        max_size=9,
    ).map(tuple),
    pauses_ms=st.lists(st.sampled_from([0, 0, 5, 40]), max_size=9).map(tuple),
    bad=st.none() | st.tuples(st.integers(0, 12), st.sampled_from(["poison", "large"])),
    skips=st.booleans(),
    merges=st.booleans(),
    node=st.integers(0, 1),
    sequence=st.sampled_from([0, _LAST_SEQUENCE - 2]),
)


async def _copy(
    scripts: list[Script], troubles: list[Trouble], max_request: int
) -> tuple[list[Sent], FakeCluster]:
    sent = [_sent(number, script) for number, script in enumerate(scripts)]
    upcoming = iter(troubles)
    cluster = FakeCluster(
        [(each.sender.target, each.script.node) for each in sent],
        lambda: next(upcoming, Trouble.NONE),
    )
    for log in cluster.logs.values():
        log.max_bytes = _MAX_BATCH
    producer = Producer(
        flow="A->B",
        client=cast("WireClient", cluster),
        identity=ProducerIdentity(7, 3),
        max_request_size=max_request,
    )
    for each in sent:
        _decide(producer, each)
    running = asyncio.create_task(producer.run(), name="producer")
    async with asyncio.TaskGroup() as group:
        for each in sent:
            group.create_task(_send(producer, each), name="sender")
    flushed = asyncio.create_task(producer.flush(each.sender for each in sent), name="flush")
    await asyncio.wait([flushed, running], return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        flushed.cancel()
        raise root_cause(running.exception() or AssertionError("the producer ended"))
    flushed.result()
    running.cancel()
    return sent, cluster


def _sent(number: int, script: Script) -> Sent:
    acked: list[OutgoingBatch] = []
    target = TopicPartition(TopicName("t"), number)
    return Sent(
        script,
        PartitionSender(target, acked.append, sequence=script.sequence, merges=script.merges),
        acked,
    )


def _decide(producer: Producer, each: Sent) -> None:
    """Has the sender go on without a refused record, or stop there."""

    def refused(batch: OutgoingBatch, code: int) -> SendState:
        each.refusals.append(code)
        each.refused += batch.offsets
        if not each.script.skips:
            return SendState.STOP
        asyncio.get_running_loop().call_later(0.05, producer.skip, each.sender, batch)
        return SendState.WAIT

    each.sender.on_refused = refused


async def _send(producer: Producer, each: Sent) -> None:
    pauses = iter(each.script.pauses_ms)
    for batch in each.script.records():
        await asyncio.sleep(next(pauses, 0) / 1000)
        if each.refusals and not each.script.skips:
            return
        offsets = range(batch[0].offset, batch[-1].offset + 1)
        producer.send(each.sender, write_batch(batch), offsets)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    scripts=st.lists(_scripts, min_size=1, max_size=4),
    troubles=st.lists(st.sampled_from(Trouble), max_size=25),
    max_request=st.sampled_from([1, 1_000, 1 << 20]),
)
# The first batch of a producer is lost while its second is on the way.
@example(
    scripts=[Script(batches=((0,), (0,)))],
    troubles=[Trouble.NOT_ENOUGH_REPLICAS],
    max_request=1 << 20,
)
# The first batch of a producer is too large, the second is not.
@example(
    scripts=[Script(batches=((400, 400, 400), (0,)))],
    troubles=[],
    max_request=1 << 20,
)
# A sender is refused while it waits for a free request.
@example(
    scripts=[Script(batches=((0,),) * 9, bad=(0, "poison")), Script(batches=((0,),) * 9)],
    troubles=[],
    max_request=1,
)
# A broken checksum after other trouble.
@example(
    scripts=[Script(batches=((0,),))],
    troubles=[Trouble.NOT_ENOUGH_REPLICAS] * 4 + [Trouble.CORRUPT],
    max_request=1 << 20,
)
# The leader does not know of appended batches being acknowledged; more than five are in question.
@example(
    scripts=[Script(batches=((0,),) * 9)],
    troubles=[Trouble.NONE, Trouble.DEAF_CLIENT, Trouble.SLOW, Trouble.SLOW],
    max_request=1 << 20,
)
def test_every_record_is_appended_once_and_in_order_whatever_happens(
    scripts: list[Script], troubles: list[Trouble], max_request: int
) -> None:
    if troubles.count(Trouble.CORRUPT) > 3:
        troubles = [t for t in troubles if t != Trouble.CORRUPT]
    try:
        sent, cluster = run(_copy(scripts, troubles, max_request))
    except SequenceLost as error:
        # Whoever starts over writes with a newer epoch, which keeps late copies out.
        if "in doubt behind a refusal" not in str(error):
            raise
        return
    for each in sent:
        log = cluster.logs[each.sender.target].records
        _check_records(each, log)
        _check_acknowledgements(each, log)
    assert cluster.most_in_flight <= MAX_IN_FLIGHT
    assert cluster.hasty == 0


def _check_records(each: Sent, log: list[Plain]) -> None:
    everything = [record for batch in each.script.records() for record in batch]
    bad = each.script.bad
    if bad is None or bad[0] >= len(everything):
        expected, refusals = everything, []
    else:
        number, kind = bad
        after = everything[number + 1 :] if each.script.skips else []
        expected = everything[:number] + after
        refusals = [Code.INVALID_RECORD if kind == "poison" else Code.MESSAGE_TOO_LARGE]
        assert each.refused == [number]
    assert [r.content for r in log] == [r.content for r in expected]
    assert each.refusals == refusals
    assert each.sender.is_idle


def _check_acknowledgements(each: Sent, log: list[Plain]) -> None:
    acked = [
        (offset, batch.base_offset + n)
        for batch in each.acked
        for n, offset in enumerate(batch.offsets)
    ]
    source_offsets = [int(record.value.split(b":")[0]) if record.value else 0 for record in log]
    assert acked == [(offset, n) for n, offset in enumerate(source_offsets)]


@settings(max_examples=EXAMPLES // 3, deadline=None)
@given(
    first=st.integers(1, 4),
    second=st.integers(2, 9),
    troubles=st.lists(st.sampled_from(Trouble), max_size=12),
)
@example(first=1, second=2, troubles=[Trouble.NOT_ENOUGH_REPLICAS])
def test_a_broker_that_forgot_an_idle_producer_gets_its_next_batches_in_order(
    first: int, second: int, troubles: list[Trouble]
) -> None:
    """``producer.id.expiration.ms``: then a broker takes any sequence number."""
    script = Script(batches=((0,),) * (first + second))
    if troubles.count(Trouble.CORRUPT) > 3:
        troubles = [t for t in troubles if t != Trouble.CORRUPT]
    each, cluster = run(_copy_with_a_rest(script, first, troubles))
    log = cluster.logs[each.sender.target].records
    _check_records(each, log)
    _check_acknowledgements(each, log)


async def _copy_with_a_rest(
    script: Script, first: int, troubles: list[Trouble]
) -> tuple[Sent, FakeCluster]:
    each = _sent(0, script)
    upcoming = iter([Trouble.NONE] * first + troubles)
    cluster = FakeCluster([(each.sender.target, 0)], lambda: next(upcoming, Trouble.NONE))
    producer = Producer(
        flow="A->B",
        client=cast("WireClient", cluster),
        identity=ProducerIdentity(7, 3),
        clock=asyncio.get_running_loop().time,
    )
    running = asyncio.create_task(producer.run(), name="producer")
    for number, batch in enumerate(script.records()):
        if number == first:
            await producer.flush([each.sender])
            await asyncio.sleep(5)
            cluster.forget_producers()
        producer.send(each.sender, write_batch(batch), range(number, number + 1))
    await asyncio.wait(
        [running, asyncio.create_task(producer.flush([each.sender]), name="flush")],
        return_when=asyncio.FIRST_COMPLETED,
    )
    running.cancel()
    return each, cluster


def test_a_target_that_is_short_of_replicas_for_hours_is_waited_for() -> None:
    script = Script(batches=((0,), (10,)))
    sent, cluster = run(_copy([script], [Trouble.NOT_ENOUGH_REPLICAS] * 1_200, 1 << 20))
    _check_records(sent[0], cluster.logs[sent[0].sender.target].records)
