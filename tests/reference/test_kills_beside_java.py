"""Killed again and again under traffic: what mm2 makes of it, and what Java's MirrorMaker does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, java_mirror, properties
from tests.support.numbers import NumberReader
from tests.support.records import create_topic

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.reference,
    pytest.mark.thorough,
    pytest.mark.timeout(1_200),
]

_PARTITIONS = 2
_KILLS = 5
_EACH = 100_000
"""Records before each kill, and after the last one."""

_TOTAL = (_KILLS + 1) * _EACH
_BURST = 500
_BURSTS_PER_SECOND = 40
_WITHIN_S = 240.0


@dataclass(frozen=True, slots=True)
class _Peer:
    """One of the two, and what of the settings is its own."""

    alias: str
    command: Callable[[Path], list[str]] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


_OURS = _Peer("P")
_JAVA = _Peer("J", java_mirror)
_JAVA_EXACTLY_ONCE = _Peer(
    "J",
    java_mirror,
    {
        # Without it Java's tasks are not fenced, and do not start.
        "dedicated.mode.enable.internal.rest": "true",
        "listeners": "http://localhost:0",
    },
)


@dataclass(slots=True)
class _Outcome:
    """
    What a peer has made of its kills.

    Attributes:
        copies: the numbers of each partition, as they came.
        restarts_s: seconds from each start after a kill to the first record that was not there.
    """

    copies: list[list[int]]
    restarts_s: list[float] = field(default_factory=list)

    @property
    def repeated(self) -> int:
        """How many copies are one too many."""
        return sum(map(len, self.copies)) - _TOTAL

    def is_complete_and_in_order(self) -> bool:
        """Whether all are there, first copies in order."""
        return [list(dict.fromkeys(copies)) for copies in self.copies] == _written()

    def __str__(self) -> str:
        restarts = ", ".join(f"{seconds:.1f}" for seconds in self.restarts_s)
        return f"{self.repeated} repeated, first new record {restarts} s after the restarts"


def test_five_kills_lose_nothing_keep_order_and_repeat_a_tenth_of_what_java_repeats(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    clusters = cluster_a, cluster_b
    ours = _killed_again_and_again(_OURS, clusters, unique, tmp_path)
    javas = _killed_again_and_again(_JAVA, clusters, unique, tmp_path)
    print(f"at least once: mm2 {ours}; Java {javas}")  # noqa: T201 - figures
    assert ours.is_complete_and_in_order()
    assert javas.is_complete_and_in_order()
    assert ours.repeated * 10 <= javas.repeated


def test_exactly_once_five_kills_leave_each_record_once_and_in_order(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    clusters = cluster_a, cluster_b
    ours = _killed_again_and_again(_OURS, clusters, unique, tmp_path, exactly_once=True)
    javas = _killed_again_and_again(
        _JAVA_EXACTLY_ONCE, clusters, unique, tmp_path, exactly_once=True
    )
    print(f"exactly once: mm2 {ours}; Java {javas}")  # noqa: T201 - figures
    assert ours.copies == _written()


def _killed_again_and_again(
    peer: _Peer,
    clusters: tuple[Cluster, Cluster],
    unique: str,
    folder: Path,
    *,
    exactly_once: bool = False,
) -> _Outcome:
    """Has a peer copy all records; kills all of its processes in the middle of each turn's."""
    source, target = clusters
    topic = f"{unique}-{peer.alias}"
    own_folder = folder / peer.alias
    own_folder.mkdir()
    create_topic(source.bootstrap, topic, _PARTITIONS)
    text = _text(peer, clusters, topic, exactly_once=exactly_once)
    reader = NumberReader(target, f"{peer.alias}.{topic}", _PARTITIONS)
    outcome = _Outcome(reader.found)
    for turn in range(_KILLS + 1):
        seen = reader.catch_up()
        with (
            Mirror(own_folder, text, command=peer.command) as mirror,
            _Traffic(source, topic, turn),
        ):
            started = time.monotonic()
            if turn:
                reader.wait(seen + 1, timeout=_WITHIN_S)
                outcome.restarts_s.append(time.monotonic() - started)
            if turn < _KILLS:
                _until_copied(reader, turn * _EACH + _EACH // 2)
                _kill(mirror)
            else:
                _until_copied(reader, _TOTAL)
                reader.catch_up()
    return outcome


def _text(peer: _Peer, clusters: tuple[Cluster, Cluster], topic: str, *, exactly_once: bool) -> str:
    mode = {
        "B.exactly.once.source.support": "enabled",
        f"{peer.alias}.consumer.isolation.level": "read_committed",
    }
    return properties(
        {peer.alias: clusters[0].bootstrap, "B": clusters[1].bootstrap},
        {
            f"{peer.alias}->B.enabled": "true",
            "topics": topic,
            "heartbeats.replication.enabled": "false",
            "emit.heartbeats.enabled": "false",
            "offset.flush.interval.ms": "2000",
            **(mode if exactly_once else {}),
            **peer.settings,
        },
    )


def _until_copied(reader: NumberReader, number: int) -> None:
    """Waits until all numbers below this one have arrived."""

    def newest() -> int:
        reader.count()
        return min(found[-1] if found else -1 for found in reader.found)

    eventually(newest, until=(number - _PARTITIONS).__le__, timeout=_WITHIN_S)


def _kill(mirror: Mirror) -> None:
    for process in [psutil.Process(mirror.process.pid), *mirror.family()]:
        process.kill()
    mirror.process.wait()
    mirror.wait_gone()


def _written() -> list[list[int]]:
    return [list(range(number, _TOTAL, _PARTITIONS)) for number in range(_PARTITIONS)]


class _Traffic:
    """Writes the records of one turn, steadily, once the mirror had time to start."""

    def __init__(self, source: Cluster, topic: str, turn: int) -> None:
        self._producer = Producer(
            {"bootstrap.servers": source.bootstrap, "enable.idempotence": True, "linger.ms": 5}
        )
        self._topic = topic
        self._first = turn * _EACH
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    def _write(self) -> None:
        time.sleep(8)
        for burst in range(self._first, self._first + _EACH, _BURST):
            for number in range(burst, burst + _BURST):
                self._producer.produce(
                    self._topic, value=b"%d" % number, partition=number % _PARTITIONS
                )
            self._producer.poll(0)
            time.sleep(1 / _BURSTS_PER_SECOND)
        assert self._producer.flush(60) == 0
