"""What is concluded from looking at the source from time to time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta
from typing import cast

import pytest

from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.gap_reports import GapReporter
from flows.source.monitor.remote_state import RemoteState
from flows.source.monitor.remote_topics import RemoteTopics
from flows.source.monitor.topic_monitor import TopicMonitor
from flows.source.send.send_queue import PartitionSender
from flows.source.task_reporter import partition_report
from mm2.core.model import NO_OFFSET, TopicName, TopicPartition
from mm2.core.positions.log_identity import Lineage
from mm2.kafka.wire.wire_client import WireClient
from mm2.kafka.writer import Writer
from tests.support.specs import data_settings, gap_settings, sample_spec

_WHERE = TopicPartition(TopicName("t"), 0)


class _Source:
    """One partition of a compacted topic that keeps tombstones for 100 ms."""

    def __init__(self) -> None:
        self.end = 10

    async def topic_settings(
        self, topics: Iterable[str], _names: Sequence[str]
    ) -> dict[str, dict[str, str]]:
        settings = {"cleanup.policy": "compact", "delete.retention.ms": "100"}
        return dict.fromkeys(topics, settings)

    async def list_offsets(
        self, partitions: Iterable[TopicPartition], _at: int
    ) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, self.end)


class _Bench:
    def __init__(self, *, read_committed: bool = True) -> None:
        self.now_ms = 1_000_000
        self.source = _Source()
        self.partition = MirroredPartition(
            _WHERE, PartitionSender(_WHERE), remote=RemoteState(is_there=True)
        )
        self.partition.validation.accept(0)
        self.partition.continue_from(9, Lineage(caught_up_ms=self.now_ms))
        spec = sample_spec(
            data=data_settings(read_committed=read_committed),
            gaps=gap_settings(fail_on_source_gap=True, hanging_transaction=timedelta(0)),
        )
        self._watch = TopicMonitor(
            partitions={_WHERE: self.partition},
            source=cast("WireClient", self.source),
            remote=cast("RemoteTopics", None),
            gaps=GapReporter(spec, Writer("B", {}), now_ms=lambda: self.now_ms, wake=lambda: None),
            spec=spec,
            now_ms=lambda: self.now_ms,
            changed=lambda: None,
        )
        self.look: Callable[[], Awaitable[None]] = lambda: self._watch._check_ends([self.partition])

    def copy(self) -> None:
        """One more record, in no time."""
        self.source.end += 1
        self.partition.fetch.move_to(self.source.end)
        self.partition.advance_past_skipped()

    @property
    def kinds(self) -> list[str]:
        return [report.kind for report in self.partition.gaps.reports]


async def test_tombstones_that_stay_for_less_than_a_look_takes_are_not_missed_all_the_time() -> (
    None
):
    bench = _Bench()
    stored = 0
    for _ in range(20):
        bench.now_ms += 5_100
        bench.copy()
        bench.partition.progress.commit(bench.partition.progress.mirrored)
        await bench.look()
        stored += bench.partition.progress.committed is None
    assert (bench.kinds, bench.partition.error) == ([], None)
    assert 0 < stored < 10, "not at each look"


async def test_a_copy_that_was_behind_for_some_looks_may_lack_tombstones() -> None:
    bench = _Bench()
    bench.source.end += 1
    for _ in range(3):
        bench.now_ms += 5_100
        await bench.look()
    assert bench.kinds == ["tombstones-expired"]


def _stop(partition: MirroredPartition) -> None:
    partition.error = "stopped"


def _unsettle(partition: MirroredPartition) -> None:
    partition.validation.invalidate()


def _pause(partition: MirroredPartition) -> None:
    partition.fetch.hold()


def _hold_open(partition: MirroredPartition) -> None:
    partition.progress.uncommitted = 1


@pytest.mark.parametrize("disturb", [_stop, _unsettle, _pause, _hold_open])
async def test_of_a_partition_that_is_not_fetched_no_transaction_is_known_to_hang(
    disturb: Callable[[MirroredPartition], None],
) -> None:
    bench = _Bench()
    bench.partition.pinned.see(10, 12, 0.0)
    disturb(bench.partition)
    await bench.look()
    assert bench.kinds == []


async def test_a_transaction_hangs_that_holds_back_a_partition_that_is_fetched() -> None:
    bench = _Bench()
    bench.partition.pinned.see(10, 12, 0.0)
    await bench.look()
    assert bench.kinds == ["transaction-hanging"]


async def test_what_holds_back_readers_of_the_source_alone_is_told_and_is_no_gap() -> None:
    bench = _Bench(read_committed=False)
    bench.partition.pinned.see(10, 12, 0.0)
    await bench.look()
    assert bench.kinds == []
    assert partition_report(bench.partition, bench.now_ms).pinned_since_ms < bench.now_ms
    bench.partition.pinned.see(12, 12, 0.0)
    assert partition_report(bench.partition, bench.now_ms).pinned_since_ms == NO_OFFSET
