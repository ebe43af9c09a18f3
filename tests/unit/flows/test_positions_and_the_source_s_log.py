"""When a position is compared with the source's log, and what brokers' answers lead to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import cast
from uuid import UUID

import pytest

from flows.source.fetch.position_check import PositionValidator
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.gap_reports import GapReporter
from flows.source.monitor.remote_state import RemoteState
from flows.source.send.send_queue import PartitionSender
from mm2.core.model import TopicName, TopicPartition
from mm2.core.positions.log_identity import Lineage
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.epoch_ends import EpochEnd
from mm2.kafka.wire.requests.fetch import FetchedPartition
from mm2.kafka.wire.requests.list_offsets import EARLIEST
from mm2.kafka.wire.requests.metadata import PartitionMetadata, TopicMetadata
from mm2.kafka.wire.wire_client import WireClient
from mm2.kafka.writer import Writer
from tests.support.specs import data_settings, gap_settings, sample_spec

_WHERE = TopicPartition(TopicName("t"), 0)
_OLD, _NEW = UUID(int=1), UUID(int=2)


@dataclass
class _Source:
    """One partition of a cluster, as its brokers speak of it."""

    topic_id: UUID | None = _OLD
    leader: int = 1
    leader_epoch: int = 3
    start: int = 0
    end: int = 20
    epoch_end: int = 20
    epoch_error: int = 0
    asked: list[int] = field(default_factory=list)

    async def describe(self, topics: Iterable[str]) -> dict[str, TopicMetadata]:
        partition = PartitionMetadata(0, 0, self.leader, self.leader_epoch)
        return {
            name: TopicMetadata(name, 0, self.topic_id, False, {0: partition}) for name in topics
        }

    async def list_offsets(
        self, partitions: Iterable[TopicPartition], at: int, *, read_committed: bool = False
    ) -> dict[TopicPartition, int]:
        del read_committed
        return dict.fromkeys(partitions, self.start if at == EARLIEST else self.end)

    async def epoch_ends(
        self, epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, EpochEnd]:
        self.asked += epochs.values()
        return {p: EpochEnd(*p, self.epoch_error, e, self.epoch_end) for p, e in epochs.items()}


class _Bench:
    def __init__(
        self, *, reset: str = "earliest", fails: bool = False, read_committed: bool = True
    ) -> None:
        self.source = _Source()
        self.forgotten: list[TopicPartition] = []
        self.partition = MirroredPartition(
            _WHERE, PartitionSender(_WHERE), remote=RemoteState(is_there=True)
        )
        spec = sample_spec(
            gaps=gap_settings(fail_on_source_gap=fails),
            data=data_settings(reset=reset, read_committed=read_committed),
        )
        gaps = GapReporter(spec, Writer("B", {}), now_ms=lambda: 1_000, wake=lambda: None)
        self.validator = PositionValidator(
            client=cast("WireClient", self.source),
            spec=spec,
            gaps=gaps,
            now_ms=lambda: 1_000,
            forget=self.forgotten.append,
        )

    def at(self, offset: int, **lineage: object) -> None:
        """Continues after ``offset``."""
        known = Lineage(**{"topic_id": _OLD, "leader_epoch": 3, **lineage})  # type: ignore[arg-type]  # names of fields
        self.partition.continue_from(offset, known)

    def settle(self) -> bool:
        self.partition.fetch.resume()
        asyncio.run(self.validator.validate([self.partition]))
        return self.partition.validation.is_valid

    def out_of_range(self) -> None:
        self.partition.validation.is_valid = True
        asyncio.run(self.validator.out_of_range(self.partition))

    @property
    def kinds(self) -> list[str]:
        return [report.kind for report in self.partition.gaps.reports]


def test_a_position_that_fits_is_settled_and_left_alone() -> None:
    bench = _Bench()
    bench.at(9)
    assert bench.settle()
    assert (bench.partition.fetch.position, bench.partition.progress.committed) == (10, 9)
    assert bench.partition.validation.checked_epoch == 3
    assert bench.source.asked == [3]
    assert bench.settle()
    assert bench.source.asked == [3], "settled once"


def test_what_was_not_known_of_a_position_is_learned_and_stored() -> None:
    bench = _Bench()
    bench.at(9, topic_id=None, leader_epoch=-1)
    assert bench.settle()
    assert bench.source.asked == []
    assert bench.partition.validation.topic_id == _OLD
    assert bench.partition.progress.committed is None


@pytest.mark.parametrize(("reset", "position"), [("earliest", 4), ("latest", 20)])
def test_without_a_position_it_begins_as_the_user_says(reset: str, position: int) -> None:
    bench = _Bench(reset=reset)
    bench.source.start = 4
    assert bench.settle()
    assert bench.partition.fetch.position == position
    assert bench.partition.catching_up.caught_up_ms == 1_000


def test_without_a_position_it_does_not_begin_if_the_user_says_so() -> None:
    bench = _Bench(reset="none")
    assert not bench.settle()
    assert "auto.offset.reset=none" in (bench.partition.error or "")


@pytest.mark.parametrize("reset", ["earliest", "latest", "none"])
def test_a_recreated_topic_begins_at_its_start_whatever_the_reset(reset: str) -> None:
    bench = _Bench(reset=reset)
    bench.at(9)
    bench.source.topic_id, bench.source.epoch_end = _NEW, 2
    assert bench.settle()
    assert bench.kinds == ["topic-recreated"]
    assert (bench.partition.fetch.position, bench.partition.progress.mirrored) == (0, -1)
    assert bench.partition.lineage.topic_id == _NEW
    assert bench.partition.fetch.leader_epoch == -1
    assert bench.forgotten == [_WHERE]


def test_a_broker_that_has_not_heard_of_the_new_topic_is_not_believed() -> None:
    bench = _Bench()
    bench.at(9)
    bench.source.topic_id = _NEW
    assert bench.settle()
    bench.partition.validation.invalidate()
    bench.source.topic_id = _OLD
    assert not bench.settle()
    assert bench.partition.validation.topic_id == _NEW
    bench.source.topic_id = _NEW
    assert bench.settle()
    assert bench.forgotten == [_WHERE]


@pytest.mark.parametrize(
    ("uncommitted", "error"), [(1, None), (0, "topic-recreated: offsets 10 to 10")]
)
def test_it_goes_back_only_with_nothing_under_way(uncommitted: int, error: str | None) -> None:
    bench = _Bench(fails=True)
    bench.at(9)
    bench.source.topic_id = _NEW
    bench.partition.progress.uncommitted = uncommitted
    assert not bench.settle()
    assert bench.partition.fetch.position == 10
    assert bench.partition.error == error


def test_a_truncated_log_is_continued_where_our_epoch_ends() -> None:
    bench = _Bench()
    bench.at(9)
    bench.source.leader_epoch, bench.source.epoch_end = 5, 7
    assert bench.settle()
    assert bench.kinds == ["log-truncated"]
    assert (bench.partition.fetch.position, bench.partition.gaps.diverged) == (7, 3)
    assert bench.partition.validation.checked_epoch == 5


def test_without_an_answer_about_the_epoch_it_is_asked_again() -> None:
    bench = _Bench()
    bench.at(9)
    bench.source.epoch_error = Code.NOT_LEADER_OR_FOLLOWER
    assert not bench.settle()
    bench.source.epoch_error = Code.NONE
    assert bench.settle()


@pytest.mark.parametrize(
    "error", [Code.TOPIC_AUTHORIZATION_FAILED, Code.CLUSTER_AUTHORIZATION_FAILED]
)
def test_a_broker_that_does_not_let_us_ask_is_not_asked_for_ever(error: Code) -> None:
    bench = _Bench()
    bench.at(9)
    bench.source.epoch_error, bench.source.epoch_end = error, -1
    assert bench.settle()
    assert bench.kinds == []


def test_without_a_leader_it_waits_and_says_so() -> None:
    bench = _Bench()
    bench.at(9)
    bench.source.leader = -1
    assert not bench.settle()
    assert bench.partition.sender.last_error == "the source answers LEADER_NOT_AVAILABLE"
    bench.source.leader = 1
    assert bench.settle()
    assert bench.partition.sender.last_error is None


def test_without_the_remote_topic_it_is_not_settled() -> None:
    bench = _Bench()
    bench.at(9)
    bench.partition.remote.block()
    assert not bench.settle()


@pytest.mark.parametrize(("epoch", "follows"), [(-1, True), (2, False), (3, True), (4, False)])
def test_only_batches_of_the_leaders_compared_with_follow(epoch: int, follows: bool) -> None:
    bench = _Bench()
    bench.at(9)
    assert bench.settle()
    assert bench.partition.follows(epoch) == follows


def test_a_batch_of_a_later_leader_waits_until_its_leadership_is_known() -> None:
    bench = _Bench()
    bench.at(9)
    assert bench.settle()
    bench.partition.validation.reject(4)
    assert not bench.settle()
    bench.source.leader_epoch = 4
    assert bench.settle()
    assert bench.partition.follows(4)
    assert bench.source.asked == [3, 3, 3]


def test_a_batch_of_an_earlier_leader_in_a_log_that_fits_is_taken() -> None:
    bench = _Bench()
    bench.at(9)
    assert bench.settle()
    bench.partition.validation.reject(2)
    assert bench.settle()
    assert bench.partition.follows(2)


@pytest.mark.parametrize(
    ("offset", "start", "epoch", "topic_id", "position", "kind"),
    [
        (4, 8, -1, _OLD, 8, "records-expired"),
        (29, 0, 3, _OLD, 20, "log-truncated"),
        (29, 2, 3, None, 2, "log-truncated"),
        (29, 2, -1, _NEW, 2, "topic-recreated"),
    ],
)
def test_a_position_outside_of_the_log_goes_on_inside(
    *, offset: int, start: int, epoch: int, topic_id: UUID | None, position: int, kind: str
) -> None:
    bench = _Bench()
    bench.at(offset, leader_epoch=epoch, topic_id=None if topic_id is None else _OLD)
    bench.source.start, bench.source.topic_id = start, topic_id
    bench.source.epoch_error = Code.CLUSTER_AUTHORIZATION_FAILED
    bench.out_of_range()
    assert bench.kinds == [kind]
    assert bench.partition.fetch.position == position


@pytest.mark.parametrize("is_stored", [False, True])
def test_an_id_that_was_only_assumed_does_not_make_a_shorter_topic_the_same(
    *, is_stored: bool
) -> None:
    bench = _Bench()
    bench.at(999, topic_id=_NEW if is_stored else None, leader_epoch=-1)
    bench.source.topic_id = _NEW
    bench.out_of_range()
    assert bench.partition.fetch.position == 0


def _faster(bench: _Bench, asked: str, position: int, *, is_settled: bool, after: int = 0) -> None:
    """Has another broker's loop settle the partition, and fetch, while a question is under way."""
    ask, questions = getattr(bench.source, asked), count()

    async def slow(*args: object, **kwargs: object) -> object:
        answer = await ask(*args, **kwargs)
        if next(questions) == after:
            bench.partition.fetch.move_to(position)
            bench.partition.validation.is_valid = is_settled
        return answer

    setattr(bench.source, asked, slow)


@pytest.mark.parametrize("is_settled", [True, False])
@pytest.mark.parametrize("asked", ["list_offsets", "epoch_ends"])
def test_late_answers_do_not_concern_a_partition_that_went_on(
    *, asked: str, is_settled: bool
) -> None:
    bench = _Bench()
    bench.at(9)
    bench.source.epoch_end = 7
    _faster(bench, asked, 15, is_settled=is_settled)
    bench.settle()
    assert (bench.partition.fetch.position, bench.kinds) == (15, [])


def test_a_partition_that_was_located_meanwhile_is_not_located_again() -> None:
    bench = _Bench(reset="latest")
    _faster(bench, "list_offsets", 15, is_settled=True)
    bench.settle()
    assert bench.partition.fetch.position == 15


@pytest.mark.parametrize(("position", "is_settled"), [(15, True), (30, False)])
def test_a_position_that_was_judged_meanwhile_is_not_judged_again(
    *, position: int, is_settled: bool
) -> None:
    bench = _Bench()
    bench.at(29, leader_epoch=-1)
    _faster(bench, "list_offsets", position, is_settled=is_settled, after=1)
    bench.out_of_range()
    assert (bench.partition.fetch.position, bench.kinds) == (position, [])


def test_a_position_inside_of_the_log_after_all_stays() -> None:
    bench = _Bench()
    bench.at(9)
    bench.out_of_range()
    assert (bench.partition.fetch.position, bench.kinds) == (10, [])


def test_outside_of_the_log_it_stops_if_the_user_says_so() -> None:
    bench = _Bench(reset="none")
    bench.at(29, leader_epoch=-1)
    bench.out_of_range()
    assert bench.partition.error == "position 30 is outside of the log, 0 to 20"
    assert bench.partition.fetch.position == 30


def test_what_is_under_way_is_waited_for_before_a_position_is_judged() -> None:
    bench = _Bench()
    bench.at(29, leader_epoch=-1)
    bench.partition.progress.uncommitted = 1
    bench.out_of_range()
    assert (bench.partition.fetch.position, bench.kinds) == (30, [])


def test_a_transaction_that_was_reported_is_over_when_the_log_moves_on() -> None:
    bench = _Bench(fails=True)
    bench.at(9)
    pinned, data = bench.partition.pinned, memoryview(b"")
    bench.validator.observe(bench.partition, FetchedPartition("t", 0, 0, 20, 10, 0, (), data))
    gap = pinned.overdue(after_s=-1, now_s=1e12)
    assert gap is not None
    assert bench.validator._gaps.found(bench.partition, gap), "it never stops a partition"
    assert [report.is_open for report in bench.partition.gaps.reports] == [True]
    bench.validator.observe(bench.partition, FetchedPartition("t", 0, 0, 20, 20, 0, (), data))
    assert [report.is_open for report in bench.partition.gaps.reports] == [False]
    assert bench.partition.error is None


@pytest.mark.parametrize("read_committed", [True, False])
@pytest.mark.parametrize(("stable", "is_held_back"), [(10, True), (20, False), (-1, False)])
def test_what_a_transaction_holds_back_is_seen_in_any_isolation_level(
    stable: int, *, is_held_back: bool, read_committed: bool
) -> None:
    bench = _Bench(read_committed=read_committed)
    answer = FetchedPartition("t", 0, 0, 20, stable, 0, (), memoryview(b""))
    bench.validator.observe(bench.partition, answer)
    assert (bench.partition.pinned.age_s(1e12) > 0) is is_held_back
