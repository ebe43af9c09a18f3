"""Which checkpoints count for a group (behaviours C143, C144, C467, C468)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import UUID

import pytest

from mm2.client.remote_checkpoints import RemoteCheckpoint, last_checkpoints, of_live_topics
from mm2.core.internal_records import EXACT_HEADER, Checkpoint
from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.runs import Logs
from mm2.kafka.logs.records import Record


def checkpoint(group: str, partition: int, downstream: int, metadata: str = "") -> Checkpoint:
    where = TopicPartition(TopicName("A.t"), partition)
    return Checkpoint(GroupId(group), where, 100, downstream, metadata)


def record(
    offset: int, key: bytes | None, value: bytes | None, *, exact: bytes | None = None
) -> Record:
    return Record(
        topic="A.checkpoints.internal",
        partition=0,
        offset=offset,
        timestamp_ms=1000 + offset,
        key=key,
        value=value,
        headers=() if exact is None else ((EXACT_HEADER, exact),),
    )


async def topic(*records: Record | Checkpoint) -> AsyncIterator[Record]:
    for offset, each in enumerate(records):
        if isinstance(each, Checkpoint):
            yield record(offset, each.key(), each.value())
        else:
            yield each


async def test_the_last_checkpoint_of_each_partition_counts() -> None:
    """C143, C467: Java's own example."""
    written = [
        checkpoint("g0", 0, 1),
        checkpoint("g0", 0, 2),
        checkpoint("g0", 1, 3),
        checkpoint("g1", 1, 4),
    ]
    found = await last_checkpoints(topic(*written), lambda _: True)
    offsets = {
        group: {where.partition: last.committed.offset for where, last in partitions.items()}
        for group, partitions in found.items()
    }
    assert offsets == {"g0": {0: 2, 1: 3}, "g1": {1: 4}}


async def test_groups_that_are_not_wanted_are_absent() -> None:
    """C468."""
    written = [checkpoint("g0", 0, 1), checkpoint("g1", 0, 1)]
    assert set(await last_checkpoints(topic(*written), lambda group: group == "g1")) == {"g1"}
    assert await last_checkpoints(topic(*written), lambda _: False) == {}


async def test_offset_metadata_time_and_exactness_are_told() -> None:
    one = checkpoint("g", 0, 5, "m")
    two = checkpoint("g", 1, 6)
    found = await last_checkpoints(
        topic(
            record(7, one.key(), one.value(), exact=b"1"),
            record(8, two.key(), two.value(), exact=b"0"),
        ),
        lambda _: True,
    )
    first, second = (found[GroupId("g")][each.partition] for each in (one, two))
    assert (first.committed, first.exact, first.timestamp_ms) == (
        CommittedOffset(5, "m"),
        True,
        1007,
    )
    assert not second.exact


async def test_what_java_wrote_is_not_taken_for_exact() -> None:
    one = checkpoint("g", 0, 5)
    found = await last_checkpoints(topic(one), lambda _: True)
    assert not found[GroupId("g")][one.partition].exact


async def test_records_that_are_no_checkpoints_are_passed_over() -> None:
    """C144."""
    one = checkpoint("g", 0, 5)
    found = await last_checkpoints(
        topic(record(0, b"?", b"?"), one, record(2, None, one.value()), record(3, one.key(), b"")),
        lambda _: True,
    )
    assert {where.partition for where in found[GroupId("g")]} == {0}


async def test_a_tombstone_takes_a_checkpoint_away() -> None:
    """C144: Java's client fails on a null value."""
    one, two = checkpoint("g", 0, 5), checkpoint("g", 1, 6)
    gone = record(2, one.key(), None)
    found = await last_checkpoints(topic(one, two, gone), lambda _: True)
    assert {where.partition for where in found[GroupId("g")]} == {1}
    assert await last_checkpoints(topic(one, gone), lambda _: True) == {}
    again = checkpoint("g", 0, 9)
    found = await last_checkpoints(topic(one, gone, again, gone, again), lambda _: True)
    assert found[GroupId("g")][one.partition].committed.offset == 9


@pytest.mark.parametrize(
    ("live", "offset"), [(UUID(int=1), 50), (UUID(int=2), 0), (None, 50)], ids=str
)
def test_of_a_copy_made_anew_nothing_has_been_read(live: UUID | None, offset: int) -> None:
    """What the group has committed upstream is true all the same."""
    told = replace(checkpoint("g", 0, 50, "m"), exact=True, logs=Logs(remote=UUID(int=1)))
    known = {told.group: {told.partition: RemoteCheckpoint(checkpoint=told, timestamp_ms=7)}}
    found = of_live_topics(known, {told.partition.topic: live})[told.group][told.partition]
    assert (found.checkpoint.upstream_offset, found.timestamp_ms) == (100, 7)
    is_told = offset == 50
    assert found.committed == CommittedOffset(offset, "m" if is_told else "")
    assert found.exact is is_told
