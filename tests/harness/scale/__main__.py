"""
What a flow of very many partitions costs in the parts that have no network.

Times are of the processor, in this process: they tell how work grows, not how fast a machine is.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import cast
from uuid import UUID

from rich.console import Console
from rich.table import Table

from flows.source.fetch.fetch_state import FetchState
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.send_queue import PartitionSender
from flows.source.task_reporter import TaskReporter
from mm2.core.balancing.loads import Loads
from mm2.core.balancing.partition_handover import Handover
from mm2.core.balancing.rebalancing import Balance, Strategy
from mm2.core.connect.offset_records import SourcePartition, encode_key, encode_offset
from mm2.core.model import SOURCE_CONNECTOR, ClusterAlias, TopicName, TopicPartition
from mm2.core.positions.log_identity import HEADER, Lineage
from mm2.core.positions.stored_positions import may_be_about, newest_records
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.kafka.logs.records import Record
from mm2.kafka.writer import Writer
from mm2.protocol.codec import decode
from mm2.protocol.control_codec import decode_control, encode_control
from mm2.protocol.control_records import Assignment, BundleState
from mm2.protocol.progress_records import (
    BundleProgress,
    PaceProgress,
    PartitionProgress,
    encode_progress,
)
from tests.support.specs import sample_spec

_SOURCE = ClusterAlias("A")
_OF_A_TOPIC = 100
_OF_A_RECORD = 1000
_POSITIONS_PARTITIONS = 25

Cost = tuple[str, float, str]
"""What was done, its CPU in seconds, and how large the result is."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, and prints a table; returns the exit status."""
    options = _parser().parse_args(arguments)
    columns = [dict(_named(count, options.bundles)) for count in options.partitions]
    table = Table(title=f"CPU seconds, with {options.bundles} bundles")
    for name in ("partitions", *map(str, options.partitions)):
        table.add_column(name, justify="left" if name == "partitions" else "right")
    for name in columns[0]:
        table.add_row(name, *(column[name] for column in columns))
    Console(width=max(80, 60 + 24 * len(columns))).print(table)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./scripts/scale", description=__doc__)
    parser.add_argument(
        "--partitions", type=int, nargs="+", default=[1_000, 10_000, 100_000], metavar="N"
    )
    parser.add_argument("--bundles", type=int, default=100, metavar="N", help="tasks.max (100)")
    return parser


def _named(partitions: int, bundles: int) -> Iterator[tuple[str, str]]:
    for name, seconds, size in costs(partitions, bundles):
        yield name, f"{seconds:.3f}{size and f' ({size})'}"


def costs(partitions: int, bundles: int) -> Iterator[Cost]:
    """What each part costs, for a flow of so many partitions."""
    found = partitions_of(partitions)
    balance = Balance(Strategy.LOAD, bundles)
    yield _cost("leader: place all", lambda: balance.place(found))
    grown = found + [TopicPartition(TopicName("new"), each) for each in range(_OF_A_TOPIC)]
    yield _cost("leader: place one more topic", lambda: balance.place(grown))
    loads = Loads(60_000)
    yield _cost("leader: learn loads of all", lambda: _observe(loads, grown))
    rates = loads.rates(1_000)
    sums = {
        number: sum(map(rates.__getitem__, each)) for number, each in enumerate(balance.planned)
    }
    yield _cost("leader: look whether loads are even", lambda: balance.is_certainly_even(sums))
    yield _cost("leader: look closer, where they are not", lambda: balance.look(rates))
    yield _cost("leader: one bundle more", lambda: _reshape(balance, bundles + 1, rates))
    handover = Handover()
    handover.converge(balance.planned)
    yield _cost("leader: see what may be given next", lambda: handover.converge(balance.planned))
    own = list(balance.planned[0])
    yield _assignment("one bundle's assignment, written and read", own)
    yield _positions("task: find its positions among all", found, own)
    yield from _progress(found[:_OF_A_RECORD])


def partitions_of(count: int) -> list[TopicPartition]:
    """Partitions of topics with a hundred each."""
    return [
        TopicPartition(TopicName(f"topic-{number // _OF_A_TOPIC:06d}"), number % _OF_A_TOPIC)
        for number in range(count)
    ]


def _cost(name: str, work: Callable[[], object], size: str = "") -> Cost:
    gc.collect()
    start = time.process_time()
    work()
    return name, time.process_time() - start, size


def _observe(loads: Loads, partitions: Sequence[TopicPartition]) -> None:
    for each in partitions:
        loads.observe(each, run=0, total=1_000_000, at_ms=1_000)


def _reshape(balance: Balance, bundles: int, rates: dict[TopicPartition, float]) -> None:
    balance.reshape(Strategy.LOAD, bundles, rates)


def _assignment(name: str, own: Sequence[TopicPartition]) -> Cost:
    remotes = {each: TopicName(f"A.{each.topic}") for each in own}
    assignment = Assignment(
        index=0, epoch=1, generation=1, state=BundleState.RUNNING, partitions=remotes
    )
    size = len(encode_control(assignment)[1])
    return _cost(name, lambda: decode_control(*encode_control(assignment)), _bytes(size))


def _positions(name: str, found: Sequence[TopicPartition], own: Sequence[TopicPartition]) -> Cost:
    identity = UUID(int=1)
    lineage = Lineage(topic_id=identity, remote_id=identity, leader_epoch=3, remote_end=9).encode()
    records = [
        Record(
            topic="mm2-offsets.A.internal",
            partition=number % _POSITIONS_PARTITIONS,
            offset=number,
            timestamp_ms=number,
            key=encode_key(SOURCE_CONNECTOR, SourcePartition(_SOURCE, *each)),
            value=encode_offset(number),
            headers=((HEADER, lineage),),
        )
        for number, each in enumerate(found)
    ]

    def read() -> None:
        accepts = may_be_about(_SOURCE, SOURCE_CONNECTOR, own)
        kept = [record for record in records if accepts(record.key)]
        newest_records(kept, _SOURCE, partitions=_POSITIONS_PARTITIONS).lineages()

    return _cost(name, read)


def _progress(found: Sequence[TopicPartition]) -> Iterator[Cost]:
    name = f"a report of {_OF_A_RECORD:,} partitions"
    yield _cost(f"task: make {name}", _reporting(found))
    report, later = _told(found, 0), _told(found, 1)
    value = encode_progress(later)[1]
    yield _cost(f"task: of that, write {name}", lambda: encode_progress(later), _bytes(len(value)))
    snapshot = FlowSnapshot()
    snapshot.apply_progress(_record(0, encode_progress(report)[1]))
    yield _cost(f"leader: take {name}", lambda: snapshot.apply_progress(_record(1, value)))
    yield _cost(f"leader: of that, read {name}", lambda: decode(BundleProgress, value, "report"))


def _reporting(found: Sequence[TopicPartition]) -> Callable[[], object]:
    partitions = {
        each: MirroredPartition(each, PartitionSender(each), fetch=FetchState(position=0, end=9))
        for each in found
    }
    for each in partitions.values():
        stats = each.stats
        for series in (stats.age, stats.replication, stats.live, stats.record_bytes):
            series.record(5, 1_000)
    reporter = TaskReporter(
        sample_spec(), partitions, cast("Writer", _Topic()), lambda: 1_000, pace=PaceProgress
    )
    return lambda: asyncio.run(reporter.report())


class _Topic:
    async def send(self, topic: str, key: bytes, value: bytes, *, partition: int) -> None:
        """Takes what is reported."""


def _told(found: Sequence[TopicPartition], second: int) -> BundleProgress:
    return BundleProgress(
        bundle=0,
        epoch=1,
        generation=1,
        time_ms=1_000 * second,
        pid=1,
        partitions=tuple(_report(each, second) for each in found),
    )


def _record(offset: int, value: bytes) -> Record:
    return Record(
        topic="mm2-progress.A.internal",
        partition=0,
        offset=offset,
        timestamp_ms=0,
        key=b"bundle-0",
        value=value,
    )


def _report(of: TopicPartition, second: int) -> PartitionProgress:
    minute = (5, 4, 12, 6)
    return PartitionProgress(
        topic=of.topic,
        partition=of.partition,
        remote=f"A.{of.topic}",
        records=123_456 + second,
        bytes=12_345_678 + 1_000 * second,
        position=123_455 + second,
        end=123_460 + second,
        lag=4,
        age_ms=minute,
        replication_ms=minute,
        live_ms=minute,
        record_bytes=minute,
    )


def _bytes(size: int) -> str:
    return f"{size / 1e6:.2f} MB"


if __name__ == "__main__":
    sys.exit(main())
