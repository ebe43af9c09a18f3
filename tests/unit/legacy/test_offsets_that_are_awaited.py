"""Partitions that the group gives to a stream while ZooKeeper does not answer."""

from __future__ import annotations

import asyncio
from typing import Final

import pytest
from structlog.testing import capture_logs

from mm2.config.legacy.zookeeper_keys import ZooKeeperSettings
from mm2.core.model import TopicPartition
from mm2.stop_deadlines import ZOOKEEPER_ANSWER_S
from tests.support.batches import Plain, write_batch
from tests.support.stream_bench import WHERE, Keeper, StreamBench
from tests.support.virtual_time import run

AWAY_S: Final = 3_600
"""Much longer than ``max.poll.interval.ms``, after which a group takes its partitions back."""


class Bench(StreamBench):
    """A stream that keeps offsets in ZooKeeper, which is away."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, is_alone: bool) -> None:
        self.keeper = Keeper()
        self.keeper.answers = False
        settings = ZooKeeperSettings(
            connect="keeper:1", session_timeout_s=6, connect_timeout_s=6, is_alone=is_alone
        )
        super().__init__(monkeypatch, self.keeper, zookeeper=settings)
        self.source.batches = [
            write_batch([Plain(offset=n, timestamp=5, value=b"%d" % n) for n in range(4)])
        ]

    async def assigned_within(self, limit_s: float) -> None:
        """The group gives the partition again, and waits for no longer than that."""
        async with asyncio.timeout(limit_s):
            await self.parts.assigned([WHERE])


@pytest.mark.parametrize("is_alone", [False, True])
def test_an_assignment_is_not_held_up(monkeypatch: pytest.MonkeyPatch, *, is_alone: bool) -> None:
    async def go() -> None:
        bench = Bench(monkeypatch, is_alone=is_alone)
        await bench.assigned_within(ZOOKEEPER_ANSWER_S + 1)
        assert f"listener: assigned {WHERE}" in bench.notes

    run(go())


def test_with_both_kafkas_offset_counts_and_a_warning_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def go() -> None:
        bench = Bench(monkeypatch, is_alone=False)
        bench.member.offsets[WHERE] = 2
        with capture_logs() as logged:
            async with bench.running():
                await asyncio.sleep(5)
                assert bench.values == [b"2", b"3"]
        (warning,) = [each for each in logged if each["log_level"] == "warning"]
        assert warning["event"] == "stream.offsets_of_kafka_alone"
        assert warning["partitions"] == 1

    run(go())


@pytest.mark.parametrize("is_alone", [False, True])
def test_a_partition_whose_offset_only_zookeeper_may_have_waits_for_it(
    monkeypatch: pytest.MonkeyPatch, *, is_alone: bool
) -> None:
    """At ``auto.offset.reset`` records would be missed, or copied again from the beginning."""

    async def go() -> None:
        bench = Bench(monkeypatch, is_alone=is_alone)
        with capture_logs() as logged:
            async with bench.running():
                await asyncio.sleep(AWAY_S)
                assert bench.values == []
                bench.keeper.offsets[WHERE] = 3
                bench.keeper.answers = True
                await asyncio.sleep(ZOOKEEPER_ANSWER_S + 5)
                assert bench.values == [b"3"]
        events = [each["event"] for each in logged]
        assert events.count("stream.offsets_awaited") == 1
        assert (events[-1], logged[-1]["partitions"]) == ("stream.partitions_begun", 1)

    run(go())


def test_a_partition_that_is_taken_back_meanwhile_is_not_copied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def go() -> None:
        bench = Bench(monkeypatch, is_alone=True)
        with capture_logs() as logged:
            async with bench.running():
                await bench.parts.revoked([WHERE])
                assert bench.notes[-1] == f"listener: revoked {WHERE}"
                bench.keeper.answers = True
                await asyncio.sleep(60)
                assert bench.values == []
                assert bench.parts.partitions == {}
        shares = [(each["event"], each["partitions"]) for each in logged if "partitions" in each]
        assert ("stream.partitions_assigned", 1) in shares
        assert ("stream.partitions_revoked", 1) in shares
        assert "stream.partitions_begun" not in dict(shares)

    run(go())


def test_a_partition_that_comes_back_goes_on_where_others_have_committed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def go() -> None:
        bench = Bench(monkeypatch, is_alone=True)
        asked = asyncio.Event()

        async def late(partitions: object) -> dict[TopicPartition, int]:
            """An answer that is under way while the partition goes and comes."""
            del partitions
            asked.set()
            await asyncio.sleep(ZOOKEEPER_ANSWER_S)
            return {WHERE: 0}

        async with bench.running():
            with monkeypatch.context() as patched:
                patched.setattr(bench.parts.owned.store, "committed", late)
                await asked.wait()
            await bench.parts.revoked([WHERE])
            bench.keeper.offsets[WHERE] = 2
            bench.keeper.answers = True
            await bench.parts.assigned([WHERE])
            await asyncio.sleep(5)
            assert bench.values == [b"2", b"3"]

    run(go())


def test_at_its_end_a_stream_tells_the_listener_of_partitions_that_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def go() -> None:
        bench = Bench(monkeypatch, is_alone=True)
        async with bench.running():
            await bench.parts.owned.leaving()
            assert bench.notes[-1] == f"listener: revoked {WHERE}"

    run(go())
