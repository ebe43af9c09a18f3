"""Idle partitions are not looked at again and again."""

from __future__ import annotations

from uuid import UUID

from flows.source.fetch.fetch_state import FetchState
from flows.source.fetch.reading import NodeReading
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.remote_state import RemoteState
from flows.source.send.send_queue import PartitionSender
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.requests.fetch import FetchedPartition, Topic


def _partitions(count: int) -> list[MirroredPartition]:
    wheres = [TopicPartition(TopicName("t"), number) for number in range(count)]
    return [
        MirroredPartition(
            where,
            PartitionSender(where),
            fetch=FetchState(position=10),
            remote=RemoteState(is_there=True),
        )
        for where in wheres
    ]


def _answer(partition: int, topic: Topic = "t") -> FetchedPartition:
    return FetchedPartition(topic, partition, 0, 20, 20, 0, (), memoryview(b""))


def _reading(partitions: list[MirroredPartition]) -> NodeReading:
    reading = NodeReading(
        1 << 20, lambda partition: partition.error is None and not partition.progress.queued
    )
    assert reading.assign(partitions, 0, 0.0)
    reading.sort()
    return reading


def test_only_partitions_that_something_happens_to_are_looked_at() -> None:
    partitions = _partitions(3)
    reading = _reading(partitions)
    assert (reading.active, reading.are_waiting) == ([], False)
    assert reading.answered(_answer(1)) is partitions[1]
    partitions[1].progress.enqueue(5)
    partitions[1].fetch.move_to(20)
    reading.sort()
    assert (reading.active, reading.are_waiting) == ([partitions[1]], True)
    assert reading.session.offset(partitions[1].source) is None
    partitions[1].progress.enqueue(-5)
    reading.sort()
    assert reading.active == []
    assert reading.session.offset(partitions[1].source) == 20


def test_answers_to_what_is_not_asked_any_more_are_passed_over() -> None:
    partitions = _partitions(2)
    reading = _reading(partitions)
    partitions[0].fetch.move_to(3)
    assert reading.answered(_answer(0)) is None
    assert reading.active == [partitions[0]], "asked again, from where it is now"
    assert reading.answered(_answer(0, "gone")) is None


def test_an_answer_of_a_topic_that_was_there_before_is_passed_over() -> None:
    before, now = UUID(int=1), UUID(int=2)
    partitions = _partitions(1)
    partitions[0].validation.identify(before)
    reading = _reading(partitions)
    assert reading.answered(_answer(0, before)) is partitions[0]
    partitions[0].validation.identify(now)
    reading.sort()
    assert reading.answered(_answer(0, before)) is None
    assert reading.answered(_answer(0, now)) is partitions[0]


def test_all_are_looked_at_after_changes_and_now_and_then() -> None:
    partitions = _partitions(2)
    reading = _reading(partitions)
    assert not reading.is_due(0, 0.4)
    assert reading.is_due(0, 0.6)
    assert reading.is_due(1, 0.1)
    assert reading.assign(partitions[:1], 1, 0.1)
    assert reading.session.offset(partitions[1].source) is None
    assert not reading.assign([], 2, 0.2)
    assert reading.session.is_empty


def test_a_failed_partition_does_not_hurry_the_others() -> None:
    partitions = _partitions(2)
    partitions[0].error = "broken"
    reading = _reading(partitions)
    assert not reading.are_waiting
    assert reading.session.offset(partitions[0].source) is None
