"""
How long a record is under way.

A producer writes at a steady rate; one consumer waits in the source cluster, and one in the target.
What a mirror adds is, for each record, the time from when the first one has it until the second one
does: the way from producer to consumer in one cluster is subtracted record by record, and what held
up that way (the machine, the producer, the source's broker) is in neither mirror's numbers.

At a high rate it matters how a producer spreads records over partitions. What has no key it sends
to one partition for a while, by default twice as long as it lingers, and then to the next: its
requests have many records. What has keys goes to all at once, and librdkafka, which writes here,
makes a request for each partition, whichever mirror runs. Both are measured.

Brokers and Java's mirror are slow until their code is compiled: all are warmed at the highest rate,
and brokers compile with the quick compiler only, which is done by then. Their garbage collector is
one that does not hold them up.
Both take turns in the order mm2, Java, Java, mm2, so that neither has the warmer source broker; the
records of all turns of a mirror count as one sample.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from tests.harness.bench.measurements import Numbers
from tests.harness.bench.mirrors import Peer, running
from tests.harness.bench.probes import Arrivals, Source, percentiles
from tests.harness.bench.settings import properties, source_cluster, target_cluster
from tests.harness.bench.throughput import Conditions
from tests.support.cluster import KafkaCluster
from tests.support.records import create_topic

_PARTITIONS: Final = 4
_WATCHED_RATE: Final = 500
"""Consumers that take more records a second busy the brokers more than the mirrors do."""

_WARM_RATE: Final = 2_000
_WARM_S: Final = 20.0
_SETTLE_S: Final = 3.0
"""At the rate that is measured, after the warming."""

_MEASURED_S: Final = 30.0
"""Of each of two turns: at 200 records a second, 120 of them are slower than the p99."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """
    How records come.

    Attributes:
        name: chooses it.
        title: for people.
        rate: records a second.
        in_a_row: so many to one partition, then to the next.
    """

    name: str
    title: str
    rate: int
    in_a_row: int = 1

    @property
    def watched(self) -> int:
        """How many partitions consumers look at: all, or the first only."""
        return _PARTITIONS if self.rate <= _WATCHED_RATE else 1

    @property
    def linger_ms(self) -> int:
        """
        How long the producer waits for more records.

        Thousands of requests a second, each of one record, keep the source's broker busy and nobody
        else: at such rates it is the default of producers.
        """
        return 0 if self.rate <= _WATCHED_RATE else 5

    def is_watched(self, number: int) -> bool:
        """Whether consumers look at the partition of a record."""
        return number // self.in_a_row % _PARTITIONS < self.watched


STREAMS: Final = (
    Stream(name="latency-200", title="delay at 200 records/s", rate=200),
    Stream(
        name="latency-2000",
        title="delay at 2,000 records/s",
        rate=2_000,
        in_a_row=20,
    ),
    Stream(
        name="latency-2000-spread",
        title="delay at 2,000 records/s, each to another partition",
        rate=2_000,
    ),
)
"""20 records at once: they come in 10 ms, twice the time for which the producer lingers."""


@dataclass(frozen=True, slots=True)
class Load:
    """
    What is written.

    Attributes:
        topic: where to.
        stream: what, to one partition after the other.
        scale: of all times.
    """

    topic: str
    stream: Stream
    scale: float

    def watched(self, prefix: str = "") -> list[tuple[str, int]]:
        """The partitions that consumers look at."""
        return [(prefix + self.topic, number) for number in range(self.stream.watched)]

    def write(
        self, writer: Source, arrivals: Arrivals, seconds: float, rate: int | None = None
    ) -> int:
        """Writes, waits for the last record that is looked at, and returns its number."""
        last = writer.write_for(seconds * self.scale, rate or self.stream.rate)
        return arrivals.wait_for(next(filter(self.stream.is_watched, range(last, 0, -1))))


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

    def add(self, here: Arrivals, there: Arrivals, numbers: Iterable[int]) -> None:
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


def measure(stream: Stream, peers: list[Peer], conditions: Conditions) -> dict[str, Numbers]:
    """
    Percentiles of the delay of a stream, of each peer, and of what it is beyond one cluster's.

    Raises:
        Stuck: records do not arrive.
    """
    delays = {peer.name: Delays() for peer in peers}
    with source_cluster(undisturbed=True) as source:
        for turn, peer in enumerate([*peers, *reversed(peers)]):
            load = Load(f"bench-{turn}", stream, conditions.scale)
            _take_turn(peer, source, load, conditions, delays[peer.name])
    return {name: each.numbers() for name, each in delays.items()}


def _take_turn(
    peer: Peer, source: KafkaCluster, load: Load, conditions: Conditions, delays: Delays
) -> None:
    create_topic(source.bootstrap, load.topic, _PARTITIONS)
    with target_cluster(undisturbed=True) as target:
        # Made before the mirror runs, so that a consumer can wait there.
        create_topic(target.bootstrap, f"A.{load.topic}", _PARTITIONS)
        text = properties(
            source,
            target,
            tasks=conditions.tasks,
            topics=load.topic,
            more=conditions.settings_of(peer),
        )
        with running(peer, text):
            _collect(source, target, load, delays)


def _collect(source: KafkaCluster, target: KafkaCluster, load: Load, delays: Delays) -> None:
    here = Arrivals(source.bootstrap, load.watched())
    there = Arrivals(target.bootstrap, load.watched("A."))
    places = [(load.topic, number) for number in range(_PARTITIONS)]
    stream = load.stream
    writer = Source(source.bootstrap, places, linger_ms=stream.linger_ms, in_a_row=stream.in_a_row)
    with here.collected(), there.collected():
        writer.until_arrived(there)
        load.write(writer, there, _WARM_S, _WARM_RATE)
        before = load.write(writer, there, _SETTLE_S)
        last = load.write(writer, there, _MEASURED_S)
        delays.add(here, there, filter(stream.is_watched, range(before + 1, last + 1)))
