"""
How long a record is under way.

A producer writes at a steady rate; one consumer waits in the source cluster, and one in the target.
What a mirror adds is, for each record, the time from when the first one has it until the second one
does: the way from producer to consumer in one cluster is subtracted record by record, and what held
up that way (the machine, the producer, the source's broker) is in neither mirror's numbers.

Brokers and Java's mirror are slow until their code is compiled: all are warmed at the highest rate,
and brokers compile with the quick compiler only, which is done by then.
Both take turns in the order mm2, Java, Java, mm2, so that neither has the warmer source broker; the
records of all turns of a mirror count as one sample.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tests.support.bench.mirrors import Peer, running
from tests.support.bench.outcome import Numbers
from tests.support.bench.probes import Arrivals, Source, percentiles
from tests.support.bench.settings import properties, source_cluster, target_cluster
from tests.support.bench.throughput import Conditions
from tests.support.cluster import KafkaCluster
from tests.support.records import create_topic

RATES: Final = (200, 2_000)
"""Records a second."""

_PARTITIONS: Final = 4
_WATCHED_RATE: Final = 500
"""Consumers that take more records a second busy the brokers more than the mirrors do."""

_WARM_RATE: Final = max(RATES)
_WARM_S: Final = 20.0
_SETTLE_S: Final = 3.0
"""At the rate that is measured, after the warming."""

_MEASURED_S: Final = 30.0
"""Of each of two turns: at 200 records a second, 120 of them are slower than the p99."""


@dataclass(frozen=True, slots=True)
class Load:
    """
    What is written.

    Attributes:
        topic: where to.
        rate: records a second, to one partition after the other.
        scale: of all times.
    """

    topic: str
    rate: int
    scale: float

    @property
    def every(self) -> int:
        """Consumers look at all partitions (1), or at one only: at each so many-th record."""
        return 1 if self.rate <= _WATCHED_RATE else _PARTITIONS

    @property
    def linger_ms(self) -> int:
        """
        How long the producer waits for more records.

        Thousands of requests a second, each of one record, keep the source's broker busy and nobody
        else: at such rates it is the default of producers.
        """
        return 0 if self.rate <= _WATCHED_RATE else 5

    def watched(self, prefix: str = "") -> list[tuple[str, int]]:
        """The partitions that consumers look at."""
        return [(prefix + self.topic, number) for number in range(_PARTITIONS // self.every)]

    def write(self, writer: Source, arrivals: Arrivals, seconds: float, rate: int) -> int:
        """Writes, waits for the last record that is looked at, and returns its number."""
        last = writer.write_for(seconds * self.scale, rate)
        return arrivals.wait_for(last - last % self.every)


@dataclass(frozen=True, slots=True)
class Delays:
    """
    Delays in ms, one of each record.

    Attributes:
        whole: from the producer to the consumer of the target.
        beyond: of it what came after the consumer of the source had the record.
    """

    whole: list[float] = field(default_factory=list)
    beyond: list[float] = field(default_factory=list)

    def add(self, here: Arrivals, there: Arrivals, numbers: range) -> None:
        """
        Adds those of some records, all of which it waits for.

        Raises:
            Stuck: they do not come.
        """
        for number in numbers:
            seen, copied = (each.arrived_ns[each.wait_for(number)] for each in (here, there))
            self.whole.append((copied - there.written_ns[number]) / 1e6)
            self.beyond.append((copied - seen) / 1e6)

    def numbers(self) -> Numbers:
        """Their percentiles."""
        beyond = {f"beyond_{kind}": value for kind, value in percentiles(self.beyond).items()}
        return {**percentiles(self.whole), **beyond}


def measure(rate: int, peers: list[Peer], conditions: Conditions) -> dict[str, Numbers]:
    """
    Percentiles of the delay at a rate, of each peer, and of what it is beyond one cluster's.

    Raises:
        Stuck: records do not arrive.
    """
    delays = {peer.name: Delays() for peer in peers}
    with source_cluster(quickly=True) as source:
        for turn, peer in enumerate([*peers, *reversed(peers)]):
            load = Load(f"bench-{turn}", rate, conditions.scale)
            _take_turn(peer, source, load, conditions, delays[peer.name])
    return {name: each.numbers() for name, each in delays.items()}


def _take_turn(
    peer: Peer, source: KafkaCluster, load: Load, conditions: Conditions, delays: Delays
) -> None:
    create_topic(source.bootstrap, load.topic, _PARTITIONS)
    with target_cluster(quickly=True) as target:
        # Made before the mirror runs, so that a consumer can wait there.
        create_topic(target.bootstrap, f"A.{load.topic}", _PARTITIONS)
        text = properties(
            source, target, tasks=conditions.tasks, topics=load.topic, more=conditions.settings
        )
        with running(peer, text):
            _collect(source, target, load, delays)


def _collect(source: KafkaCluster, target: KafkaCluster, load: Load, delays: Delays) -> None:
    here = Arrivals(source.bootstrap, load.watched())
    there = Arrivals(target.bootstrap, load.watched("A."))
    places = [(load.topic, number) for number in range(_PARTITIONS)]
    writer = Source(source.bootstrap, places, linger_ms=load.linger_ms)
    with here.collected(), there.collected():
        writer.until_arrived(there)
        load.write(writer, there, _WARM_S, _WARM_RATE)
        before = load.write(writer, there, _SETTLE_S, load.rate)
        last = load.write(writer, there, _MEASURED_S, load.rate)
        delays.add(here, there, range(before + load.every, last + 1, load.every))
