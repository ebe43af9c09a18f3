"""Where in the positions topic a task writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from structlog.testing import capture_logs

from flows.source.commit.positions_topic import PositionsTopic, position_of
from flows.source.forward.recode import records_of
from flows.source.forward.record_batch import split
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from mm2.core.connect.offset_records import SourcePartition, encode_key
from mm2.core.model import ClusterAlias, TopicName, TopicPartition
from mm2.core.murmur2 import partition_for

_A = ClusterAlias("A")
_NOW_MS = 1_700_000_000_000
_SOURCES = [TopicPartition(TopicName("orders"), number) for number in range(64)]


class _Sent:
    """Keeps what is to be sent."""

    def __init__(self) -> None:
        self.times: dict[TopicPartition, list[int]] = {}

    def send(self, sender: PartitionSender, data: bytearray, offsets: list[int]) -> None:
        del offsets
        (batch,) = split(memoryview(data))
        self.times[sender.target] = [record.timestamp for record in records_of(batch)]


def _topic(counts: Iterator[int], sent: _Sent | None = None) -> PositionsTopic:
    return PositionsTopic(
        cast("Producer", sent),
        source=_A,
        topic=TopicName("offsets"),
        partitions=lambda: next(counts),
        now_ms=lambda: _NOW_MS,
    )


def _homes(partitions: int) -> list[int]:
    """Where Java's producer would write."""
    keys = (encode_key("MirrorSourceConnector", SourcePartition(_A, *each)) for each in _SOURCES)
    return [partition_for(key, partitions) for key in keys]


def test_positions_go_where_javas_go_whatever_number_of_partitions_is_configured() -> None:
    topic = _topic(iter([50] * len(_SOURCES)))
    assert [topic.sender_of(each).target.partition for each in _SOURCES] == _homes(50)


def test_positions_go_where_javas_go_once_the_topic_has_more_partitions() -> None:
    counts = iter([25] * len(_SOURCES) + [0] + [50] * (len(_SOURCES) - 1))
    topic = _topic(counts)
    before = [topic.sender_of(each) for each in _SOURCES]
    with capture_logs() as logs:
        after = [topic.sender_of(each) for each in _SOURCES]
    assert [sender.target.partition for sender in before] == _homes(25)
    assert after[0] is before[0]  # As long as nobody knows better, nothing changes.
    assert [sender.target.partition for sender in after[1:]] == _homes(50)[1:]
    assert [log["event"] for log in logs] == ["positions.partitions_changed"]


def test_a_position_is_newer_than_one_that_stands_elsewhere_by_a_clock_ahead_of_ours() -> None:
    sent = _Sent()
    topic = _topic(iter([1] * 9), sent)
    plain, outdone = (MirroredPartition(each, PartitionSender(each)) for each in _SOURCES[:2])
    outdone.progress.elsewhere_ms = _NOW_MS + 5_000
    topic.write(topic.by_sender([position_of(plain, 3), position_of(outdone, 4)]))
    assert sent.times == {TopicPartition(TopicName("offsets"), 0): [_NOW_MS, _NOW_MS + 5_001]}
