"""Copies whose partitions follow their keys: where they go, in which order, and what counts."""

from __future__ import annotations

import asyncio

import pytest

from flows.legacy import keyed_copies
from mm2.core.model import TopicPartition
from mm2.core.murmur2 import partition_for
from mm2.kafka.wire.compiled import NotCarried, compile_division
from tests.support.batches import Plain, write_batch, write_legacy
from tests.support.copier_bench import PARTITIONS, TOPIC, CopierBench, batch
from tests.support.virtual_time import run


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize("codec", range(5))
def test_keys_lead_to_the_partitions_of_javas_producer_in_order(
    monkeypatch: pytest.MonkeyPatch, *, is_compiled: bool, codec: int
) -> None:
    compile_division(wait=True)
    if not is_compiled:
        monkeypatch.setattr(keyed_copies, "divide", not_compiled)

    async def go() -> None:
        bench = CopierBench(None, batch_size=100)
        values = [b"%d" % (number % 20) for number in range(200)]
        async with bench.running():
            bench.take(
                batch(0, *values[:150], keys=True, codec=codec),
                batch(150, *values[150:], keys=True),
            )
            await bench.wait_for_copies()
        assert bench.committable == 200
        for number in range(PARTITIONS):
            wanted = [value for value in values if partition_for(value, PARTITIONS) == number]
            assert [each.value for each in bench.copied(number)] == wanted

    run(go())


def test_old_formats_are_repartitioned_in_their_order() -> None:
    compile_division(wait=True)
    old = write_legacy([(1, 5, b"k", b"1"), (2, 5, b"k", b"2")], magic=1)

    async def go() -> None:
        bench = CopierBench(None)
        async with bench.running():
            bench.take(keyed(0, b"0"), old, keyed(3, b"3"))
            await bench.wait_for_copies()
        assert [each.value for each in bench.copied()] == [b"0", b"1", b"2", b"3"]
        assert bench.committable == 4

    run(go())


def keyed(offset: int, value: bytes) -> bytes:
    """A record with the key of all others."""
    return write_batch([Plain(offset=offset, timestamp=5, key=b"k", value=value)])


def test_what_was_not_answered_of_a_divided_chunk_is_not_committed() -> None:
    compile_division(wait=True)
    values = [b"%d" % number for number in range(60)]
    slow = partition_for(values[7], PARTITIONS)

    async def go() -> None:
        bench = CopierBench(None)
        bench.cluster.logs[TopicPartition(TOPIC, slow)].leader = 1
        async with bench.running():
            bench.take(batch(0, *values, keys=True))
            await asyncio.sleep(0.05)
            first = next(n for n in range(60) if partition_for(values[n], PARTITIONS) == slow)
            assert bench.committable == first > 0
            await bench.wait_for_copies()
        assert bench.committable == 60

    run(go())


def not_compiled(*_: object, **__: object) -> None:
    """As if the code were not compiled yet."""
    raise NotCarried("not yet")
