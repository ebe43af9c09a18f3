"""
What a flow of very many partitions costs in the parts that have no network.

Times are of the processor, in this process: they tell how work grows, not how fast a machine is.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

from rich.console import Console
from rich.table import Table

from mm2.core.balancing.loads import Loads
from mm2.core.balancing.rebalancing import Balance, Strategy
from mm2.core.connect.offset_records import SourcePartition, encode_key, encode_offset
from mm2.core.model import SOURCE_CONNECTOR, ClusterAlias, TopicName, TopicPartition
from mm2.core.positions.log_identity import HEADER, Lineage
from mm2.core.positions.stored_positions import may_be_about, newest_records
from mm2.kafka.logs.records import Record
from mm2.protocol.codec import decode
from mm2.protocol.control_codec import decode_control, encode_control
from mm2.protocol.control_records import Assignment, BundleState
from mm2.protocol.progress_records import (
    BundleProgress,
    PartitionProgress,
    encode_progress,
)

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
    report = BundleProgress(
        bundle=0,
        epoch=1,
        generation=1,
        time_ms=len(found),
        pid=1,
        partitions=tuple(map(_report, found)),
    )
    value = encode_progress(report)[1]
    name = f"a report of {_OF_A_RECORD:,} partitions"
    yield _cost(f"task: write {name}", lambda: encode_progress(report), _bytes(len(value)))
    yield _cost(f"leader: read {name}", lambda: decode(BundleProgress, value, "report"))


def _report(of: TopicPartition) -> PartitionProgress:
    minute = (5, 4, 12, 6)
    return PartitionProgress(
        topic=of.topic,
        partition=of.partition,
        remote=f"A.{of.topic}",
        records=123_456,
        bytes=12_345_678,
        position=123_455,
        end=123_460,
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
