"""Members of consumer groups: they read for a while, commit, and stop."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from confluent_kafka import Consumer, KafkaError, TopicPartition

from tests.harness.trials.gap_traffic import PARTITIONS, number_of
from tests.harness.trials.verdict import Where
from tests.support.groups import group_offsets
from tests.support.providers import have_new_groups
from tests.support.records import DEADLINE_S, group_member

_FETCH_BYTES: Final = (4_000, 30_000, 1_000_000)
_AT_ONCE: Final = (1, 10, 100, 1_000)
_PROTOCOLS: Final = ("classic", "consumer") if have_new_groups() else ("classic",)


@dataclass
class Reading:
    """
    What a member has read, by the names of topics on the cluster where it was.

    Attributes:
        first: number of the first record of each partition.
        next: the offset behind the last record of each partition.
        ended: partitions that were read to their end.
    """

    first: dict[Where, int] = field(default_factory=dict)
    next: dict[Where, int] = field(default_factory=dict)
    ended: set[Where] = field(default_factory=set)

    def take(self, consumer: Consumer, most: int, *, timeout: float = 0.2) -> int:
        """Reads up to so many records; returns how many came."""
        came = 0
        for message in consumer.consume(most, timeout=timeout):
            where = (message.topic() or "", message.partition() or 0)
            error = message.error()
            if error is None:
                self.first.setdefault(where, number_of(message.value()))
                self.next[where] = (message.offset() or 0) + 1
                came += 1
            elif error.code() == KafkaError._PARTITION_EOF:
                self.ended.add(where)
        return came

    def commit(self, consumer: Consumer, *, wait: bool = True) -> None:
        """Commits behind all that was read."""
        positions = [TopicPartition(*where, offset) for where, offset in self.next.items()]
        if positions and wait:
            consumer.commit(offsets=positions, asynchronous=False)
        elif positions:
            consumer.commit(offsets=positions)


def member_settings(random: Random) -> dict[str, str | int]:
    """Settings of a member of a group, old or new protocol, which decide how it gets records."""
    return {
        "group.protocol": random.choice(_PROTOCOLS),
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "log_level": 0,
        "max.partition.fetch.bytes": random.choice(_FETCH_BYTES),
    }


def read_and_stop(
    bootstrap: str, group: str, topics: Sequence[str], random: Random, most: int
) -> Reading:
    """
    A member joins, sees the first record of each partition or its end, reads on for a random
    number of records up to ``most``, commits, and leaves.
    """
    reading = Reading()
    with group_member(bootstrap, group, topics, member_settings(random)) as consumer:
        _see_all(consumer, reading, PARTITIONS * len(topics))
        left = random.randrange(most)
        while left > 0 and (came := reading.take(consumer, min(left, random.choice(_AT_ONCE)))):
            left -= came
        reading.commit(consumer)
    return reading


def read_and_stop_anywhere(
    bootstrap: str, group: str, topics: Sequence[str], random: Random, most: int
) -> None:
    """As ``read_and_stop``, but some partitions may not be reached."""
    reading = Reading()
    with group_member(bootstrap, group, topics, member_settings(random)) as consumer:
        left = random.randrange(1, most)
        deadline = time.monotonic() + DEADLINE_S
        while left > 0 and time.monotonic() < deadline:
            left -= reading.take(consumer, min(left, random.choice(_AT_ONCE)))
        reading.commit(consumer)


def committed_offsets(bootstrap: str, group: str) -> Mapping[Where, int]:
    """What a group has committed."""
    return {where: at for where, at in group_offsets(bootstrap, group).items() if at >= 0}


def _see_all(consumer: Consumer, reading: Reading, partitions: int) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while True:
        reading.take(consumer, 1_000)
        assigned = {(each.topic, each.partition) for each in consumer.assignment()}
        if len(assigned) == partitions and assigned <= reading.first.keys() | reading.ended:
            return
        assert time.monotonic() < deadline, f"partitions without an answer: {assigned}"
