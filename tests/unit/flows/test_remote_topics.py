"""What becomes of copies whose remote topic is gone, or is another one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import cast
from uuid import UUID

import pytest

from flows.source.commit.position_commits import has_moved, position_of
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.gap_reports import Gaps
from flows.source.monitor.remote_ends import RemoteEnds
from flows.source.monitor.remote_topics import RemoteTopics
from flows.source.send.producer import Producer
from flows.source.send.send_queue import OutgoingBatch, PartitionSender
from mm2.core.model import NO_OFFSET, TopicName, TopicPartition
from mm2.core.positions.log_identity import Lineage
from mm2.core.translation.partition_runs import PartitionRuns
from mm2.core.translation.runs import Block, Logs, Run, Runs
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.requests.list_offsets import EARLIEST
from mm2.kafka.wire.requests.metadata import PartitionMetadata, TopicMetadata
from mm2.kafka.wire.wire_client import WireClient
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import GapSpec
from tests.support.batches import Plain, write_batch
from tests.support.fake_broker import FakeCluster, Trouble
from tests.support.specs import sample_spec

_SOURCE = TopicPartition(TopicName("t"), 0)
_TARGET = TopicPartition(TopicName("A.t"), 0)
_OLD, _NEW = UUID(int=1), UUID(int=2)


class _Cluster:
    """What is asked of both clusters."""

    def __init__(self) -> None:
        self.topic_id: UUID | None = _OLD
        self.error = 0
        self.ends: dict[bool, int | None] = {False: 12, True: 12}

    async def describe(self, topics: Iterable[str]) -> dict[str, TopicMetadata]:
        found = {} if self.error else {0: PartitionMetadata(0, 0, 1, 0)}
        topic_id = None if self.error else self.topic_id
        return {name: TopicMetadata(name, self.error, topic_id, False, found) for name in topics}

    async def list_offsets(
        self, partitions: Iterable[TopicPartition], at: int, *, read_committed: bool = False
    ) -> dict[TopicPartition, int]:
        end = 3 if at == EARLIEST else self.ends[read_committed]
        return {} if end is None else dict.fromkeys(partitions, end)

    async def refresh(self) -> None:
        """The leaders are known."""


class _Bench:
    """A partition with a batch that nobody sends; the remote topic was ``_OLD`` so far."""

    def __init__(self, *, fails: bool = False, is_transactional: bool = False) -> None:
        self.cluster = _Cluster()
        self.wishes: list[TopicName] = []
        self.now_ms = 1
        self.runs: dict[TopicPartition, PartitionRuns] = {}
        self.aborted: list[PartitionSender] = []
        lane = PartitionSender(_TARGET, on_dropped=self._dropped)
        self.partition = MirroredPartition(_SOURCE, lane)
        self.partition.continue_from(9, Lineage(remote_id=_OLD))
        self.producer = Producer(
            flow="A->B",
            client=cast("WireClient", FakeCluster([(_TARGET, 0)], lambda: Trouble.NONE)),
            identity=ProducerIdentity(5, 1),
        )
        spec = sample_spec(
            gaps=GapSpec(remote_fails=fails),
        )
        client = cast("WireClient", self.cluster)
        gaps = Gaps(spec, Writer("B", {}), now_ms=lambda: 1, wake=lambda: None)
        ends = RemoteEnds(
            source=client,
            target=client,
            gaps=gaps,
            now_ms=lambda: self.now_ms,
            forget=lambda _: None,
            runs=self._stored,
            committer=self,
            is_transactional=is_transactional,
        )
        self.remote = RemoteTopics(
            source=client,
            target=client,
            producer=self.producer,
            gaps=gaps,
            ends=ends,
            fails=fails,
            now_ms=lambda: self.now_ms,
            ask_for=self._wish,
            forget=lambda _: None,
        )

    async def _wish(self, topic: TopicName) -> None:
        self.wishes.append(topic)

    async def _stored(self, _: object) -> dict[TopicPartition, PartitionRuns]:
        return self.runs

    async def abort(self, lane: PartitionSender) -> None:
        self.aborted.append(lane)

    def copied(self, runs: Runs, *, is_transactional: bool = False, remote: UUID = _OLD) -> None:
        """The source's offsets 0 to 9 were copied, as these runs say."""
        self.runs[_SOURCE] = PartitionRuns()
        logs = Logs(None, remote)
        self.runs[_SOURCE].add(Block(0, 10, runs, logs, is_transactional=is_transactional))
        lineage = Lineage(remote_id=_OLD, remote_end=runs.downstream_end)
        self.partition.continue_from(9, lineage)

    def _dropped(self, batches: Iterable[OutgoingBatch]) -> None:
        self.partition.position = next(iter(batches)).offsets[0]

    def send(self) -> None:
        data = write_batch([Plain(offset=0, value=b"x")])
        self.producer.send(self.partition.lane, data, [10])
        self.partition.position = 11

    def look(self) -> None:
        asyncio.run(self.remote.look([self.partition]))

    def is_unsure(self) -> bool:
        return self.remote.is_unsure

    def is_written(self) -> bool:
        return self.partition.is_remote_there

    def delete(self) -> None:
        self.cluster.error = Code.UNKNOWN_TOPIC_OR_PARTITION

    def create(self, topic_id: UUID | None) -> None:
        self.cluster.error, self.cluster.topic_id = 0, topic_id


@pytest.mark.parametrize("found", [_OLD, None])
def test_a_topic_that_is_there_is_written_to(found: UUID | None) -> None:
    bench = _Bench()
    bench.create(found)
    bench.look()
    assert bench.partition.is_remote_there
    assert bench.partition.remote_id == _OLD
    assert bench.partition.position == 10


def test_nothing_is_sent_to_a_topic_that_is_gone_and_it_is_wished_for() -> None:
    bench = _Bench()
    bench.look()
    bench.partition.is_settled = True
    bench.send()
    bench.delete()
    bench.look()
    assert bench.partition.lane.is_idle
    assert bench.partition.position == 10, "what was not sent is fetched again"
    assert not bench.partition.is_remote_there
    assert not bench.partition.is_settled
    assert bench.wishes == ["A.t"]


def test_what_may_not_be_created_is_wished_for_less_and_less_often() -> None:
    bench = _Bench()
    bench.delete()
    wished: list[int] = []
    for bench.now_ms in range(0, 1_000_000, 5_000):
        bench.look()
        wished += [bench.now_ms // 1000] * (len(bench.wishes) - len(wished))
    assert wished == [0, 10, 30, 70, 150, 310, 610, 910]
    bench.create(_OLD)
    bench.look()
    bench.delete()
    bench.look()
    assert len(bench.wishes) == len(wished) + 1, "at once, when it has been there again"


def test_a_topic_that_was_only_not_known_for_a_moment_is_gone_on_with() -> None:
    bench = _Bench(fails=True)
    bench.look()
    bench.delete()
    bench.look()
    bench.create(_OLD)
    bench.look()
    assert bench.partition.is_remote_there
    assert (bench.partition.position, bench.partition.error) == (10, None)
    assert not bench.partition.gaps


def test_a_new_topic_is_filled_from_the_start_of_the_source() -> None:
    bench = _Bench()
    bench.look()
    bench.delete()
    bench.look()
    bench.create(_NEW)
    bench.look()
    assert bench.partition.position == 3
    assert bench.partition.remote_id == _NEW
    assert bench.partition.is_remote_there
    (report,) = bench.partition.gaps.values()
    assert (report.kind, report.first, report.end) == ("remote-recreated", 3, 10)


def test_by_policy_it_stops_when_the_topic_is_certainly_gone() -> None:
    bench = _Bench(fails=True)
    bench.delete()
    errors = []
    for _ in range(2):
        bench.look()
        errors.append(bench.partition.error)
    assert errors == [None, "the remote topic A.t was deleted"]
    assert bench.wishes == []


def test_by_policy_it_stops_when_the_topic_is_another() -> None:
    bench = _Bench(fails=True)
    bench.create(_NEW)
    bench.look()
    assert bench.partition.error == "remote-recreated: offsets 3 to 10"
    assert not bench.partition.is_remote_there


@pytest.mark.parametrize("fails", [True, False])
def test_the_copy_of_a_topic_that_is_gone_itself_is_not_missed(*, fails: bool) -> None:
    bench = _Bench(fails=fails)
    bench.partition.is_missing = True
    bench.delete()
    bench.look()
    bench.look()
    assert bench.partition.error is None
    assert bench.wishes == []


def test_a_topic_that_may_not_be_seen_is_waited_for_with_a_reason() -> None:
    bench = _Bench()
    bench.cluster.error = Code.TOPIC_AUTHORIZATION_FAILED
    bench.look()
    assert not bench.partition.is_remote_there
    assert bench.partition.lane.last_error == "the target answers TOPIC_AUTHORIZATION_FAILED"


_COPIED = Runs([Run(0, 2, 5), Run(5, 8, 5)])
"""Of the source's offsets 0 to 9; somebody else has written before them, and in between."""


@pytest.mark.parametrize(("end", "resume"), [(13, 10), (12, 9), (9, 6), (8, 5), (7, 5), (5, 3)])
def test_copies_that_the_target_has_lost_are_copied_again_and_no_others(
    end: int, resume: int
) -> None:
    bench = _Bench()
    bench.copied(_COPIED)
    bench.cluster.ends[False] = end
    bench.look()
    assert bench.is_written() == (end == 13)
    bench.look()
    assert bench.is_written()
    assert bench.partition.position == resume
    assert [(g.kind, g.first, g.end) for g in bench.partition.gaps.values()] == [
        ("remote-truncated", resume, 10)
    ][: end < 13]
    assert bench.partition.remote_end == min(end, 13)
    assert bench.partition.lost == 0


def test_what_the_source_no_longer_has_either_is_counted_as_lost() -> None:
    bench = _Bench()
    bench.copied(_COPIED)
    bench.cluster.ends[False] = 3
    bench.look()
    bench.look()
    assert (bench.partition.position, bench.partition.lost) == (3, 2)


@pytest.mark.parametrize("knows_another_log", [True, False])
def test_where_no_runs_tell_the_place_all_is_copied_again(*, knows_another_log: bool) -> None:
    bench = _Bench()
    bench.copied(_COPIED, remote=_NEW)
    if not knows_another_log:
        bench.runs.clear()
    bench.cluster.ends[False] = 12
    bench.look()
    bench.look()
    assert bench.partition.position == 3, "the start of the source"


def test_a_log_that_ends_early_for_a_moment_only_is_gone_on_with() -> None:
    """A broker may not have heard yet that another one leads."""
    bench = _Bench()
    bench.copied(_COPIED)
    bench.cluster.ends[False] = 9
    bench.look()
    assert bench.is_unsure()
    bench.cluster.ends[False] = 20
    bench.look()
    assert not bench.is_unsure()
    assert bench.is_written()
    assert bench.partition.position == 10
    assert not bench.partition.gaps


def test_nothing_is_written_before_the_end_of_the_log_is_known() -> None:
    bench = _Bench()
    bench.copied(_COPIED)
    bench.cluster.ends[False] = None
    bench.look()
    assert not bench.is_written()
    assert bench.is_unsure()
    bench.cluster.ends[False] = 13
    bench.look()
    assert bench.is_written()
    bench.cluster.ends[False] = None
    bench.look()
    assert bench.is_written(), "once it has been compared"


def test_by_policy_it_stops_when_copies_are_lost() -> None:
    bench = _Bench(fails=True)
    bench.copied(_COPIED)
    bench.cluster.ends[False] = 9
    bench.look()
    bench.look()
    assert bench.partition.error == "remote-truncated: offsets 6 to 10"
    assert not bench.is_written()


@pytest.mark.parametrize(
    ("end", "stable", "resume"), [(14, 14, 10), (13, 8, 5), (11, 8, 5), (8, 8, 5), (15, 8, 10)]
)
def test_a_transaction_without_its_marker_is_copied_again_and_aborted(
    end: int, stable: int, resume: int
) -> None:
    """The coordinator takes it for committed, and so nobody will ever end it."""
    bench = _Bench(is_transactional=True)
    bench.copied(_COPIED, is_transactional=True)
    bench.cluster.ends = {False: end, True: stable}
    bench.look()
    bench.look()
    assert bench.is_written()
    assert bench.partition.position == resume
    assert bool(bench.aborted) == (stable < end <= 13)


def test_a_transaction_of_somebody_else_holds_nothing_back() -> None:
    bench = _Bench(is_transactional=True)
    bench.copied(_COPIED, is_transactional=False)
    bench.cluster.ends = {False: 13, True: 5}
    bench.look()
    bench.look()
    assert bench.is_written()
    assert (bench.partition.position, bench.aborted) == (10, [])


def test_a_batch_that_is_appended_before_the_last_copy_tells_that_copies_are_lost() -> None:
    """The log has grown again already when it is looked at."""
    bench = _Bench()
    bench.look()
    bench.copied(_COPIED)
    bench.partition.uncommitted = 1
    batch = OutgoingBatch(bytearray(), 0, range(10, 40), 1, 0, answer=0, base_offset=9)
    bench.partition.acknowledge(batch, now_ms=1)
    assert has_moved(bench.partition), "a task that takes over must find it out as well"
    bench.cluster.ends[False] = 39
    bench.look()
    assert bench.is_written()
    assert bench.partition.position == 6
    assert bench.partition.cut_at is None
    (report,) = bench.partition.gaps.values()
    assert (report.kind, report.first, report.end) == ("remote-truncated", 6, 40)


@pytest.mark.parametrize("is_transactional", [False, True])
def test_a_task_that_takes_over_copies_again_what_the_one_before_it_saw_lost(
    is_transactional: bool,
) -> None:
    """That one drained before it could go back, and the log has grown again."""
    left = _Bench(is_transactional=is_transactional)
    left.copied(_COPIED, is_transactional=is_transactional)
    batch = OutgoingBatch(bytearray(), 0, range(10, 40), 1, 0, answer=0, base_offset=9)
    later = OutgoingBatch(bytearray(), 0, range(40, 50), 1, 0, answer=0, base_offset=39)
    left.partition.landed(batch)
    left.partition.landed(later)
    if not is_transactional:  # Else the position is part of the transaction that they are in.
        left.partition.acknowledge(batch, now_ms=1)
        left.partition.acknowledge(later, now_ms=1)
    _, offset, lineage = position_of(left.partition, 49, later)
    taken = _Bench(is_transactional=is_transactional)
    taken.copied(_COPIED, is_transactional=is_transactional)
    taken.partition.continue_from(offset, Lineage.decode(lineage.encode()))
    taken.cluster.ends = {False: 49, True: 49}
    taken.look()
    assert taken.is_written()
    assert taken.partition.position == 6
    assert taken.partition.lineage.cut_at is None
    (report,) = taken.partition.gaps.values()
    assert (report.kind, report.first, report.end) == ("remote-truncated", 6, 50)


def test_the_first_of_several_lost_offsets_is_remembered() -> None:
    bench = _Bench()
    bench.copied(_COPIED)
    for first, base in ((10, 9), (20, 10), (30, 4)):
        batch = OutgoingBatch(
            bytearray(), 0, range(first, first + 10), 1, 0, answer=0, base_offset=base
        )
        bench.partition.landed(batch)
        bench.partition.acknowledge(batch, now_ms=1)
    assert bench.partition.cut_at == 4


def test_an_offset_that_nobody_told_is_not_compared() -> None:
    bench = _Bench()
    bench.copied(_COPIED)
    bench.partition.uncommitted = 1
    batch = OutgoingBatch(bytearray(), 0, range(10, 40), 1, 0, answer=0, base_offset=NO_OFFSET)
    bench.partition.acknowledge(batch, now_ms=1)
    assert bench.partition.cut_at is None
