"""
What it costs to change records on their way: each way that a flow has, beside Java's.

Java's MirrorMaker has Connect's transforms only. Where ours does the same by an expression, an
Arrow function or a message handler, Java does it by its transform. All records stay, so that both
have as many to copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.harness.bench import latency, throughput
from tests.harness.bench.measurements import JAVA, OURS, Numbers
from tests.harness.bench.mirrors import Peer
from tests.harness.bench.throughput import Conditions
from tests.harness.bench.workload import Workload, in_batches
from tests.support.layout import ROOT

_HEADER: Final = """\
A->B.transforms.mark.type = org.apache.kafka.connect.transforms.InsertHeader
A->B.transforms.mark.header = mirrored-from
A->B.transforms.mark.value.literal = A
A->B.header.converter = org.apache.kafka.connect.storage.SimpleHeaderConverter
"""
_FILTER: Final = """\
A->B.transforms.drop.type = org.apache.kafka.connect.transforms.Filter
A->B.transforms.drop.predicate = isTombstone
A->B.predicates = isTombstone
A->B.predicates.isTombstone.type = org.apache.kafka.connect.transforms.predicates.RecordIsTombstone
"""
_FUNCTIONS: Final = "tests.harness.bench.record_functions"

_ONLY_HEADER: Final = f"A->B.transforms = mark\n{_HEADER}"
_ONLY_FILTER: Final = f"A->B.transforms = drop\n{_FILTER}"
_BOTH: Final = f"A->B.transforms = drop, mark\n{_FILTER}{_HEADER}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """
    How records are changed.

    Attributes:
        name: names the rows.
        title: for people.
        ours: lines of mm2's properties file.
        java: lines of Java's.
        records: that are copied: fewer where that takes long.
    """

    name: str
    title: str
    ours: str
    java: str
    records: int = 3_000_000


CHANGES: Final = (
    Change(name="header", title="InsertHeader", ours=_ONLY_HEADER, java=_ONLY_HEADER),
    Change(
        name="arrow",
        title="an Arrow function that adds a header; Java: InsertHeader",
        ours=f"A->B.arrow.function = {_FUNCTIONS}:marked_columns\n",
        java=_ONLY_HEADER,
    ),
    Change(
        name="sql",
        title="an expression of SQL that adds a header; Java: InsertHeader",
        ours="A->B.transforms.sql.headers = array_append(headers, "
        "named_struct('key', 'mirrored-from', 'value', CAST('A' AS BINARY)))\n",
        java=_ONLY_HEADER,
    ),
    Change(
        name="handler",
        title="a message handler that adds a header; Java: InsertHeader",
        ours=f"A->B.message.handler = {_FUNCTIONS}:marked\n",
        java=_ONLY_HEADER,
        records=600_000,
    ),
    Change(
        name="provenance",
        title="provenance headers; Java: InsertHeader",
        ours="A->B.provenance.headers.enabled = true\n",
        java=_ONLY_HEADER,
    ),
    Change(
        name="filter", title="Filter with RecordIsTombstone", ours=_ONLY_FILTER, java=_ONLY_FILTER
    ),
    Change(
        name="like",
        title="SQL's LIKE on the value; Java: Filter with RecordIsTombstone",
        ours="A->B.transforms.sql.where = CAST(value AS STRING) NOT LIKE '%not there%'\n",
        java=_ONLY_FILTER,
    ),
    Change(
        name="filter-header",
        title="Filter with RecordIsTombstone, InsertHeader",
        ours=_BOTH,
        java=_BOTH,
    ),
)
"""The same header in all ways first, then filters."""


def measure_throughput(
    change: Change, peers: list[Peer], conditions: Conditions
) -> dict[str, Numbers]:
    """
    Lets mirrors copy 100-byte records in lz4 batches of 16 KB, as throughput does.

    Raises:
        Stuck: one does not get on.
    """
    workload = Workload(
        name=change.name,
        title=change.title,
        size=100,
        records=change.records,
        fill=in_batches("lz4", 150),
    )
    return throughput.measure(workload, *_for(change, peers, conditions))


def measure_delay(change: Change, peers: list[Peer], conditions: Conditions) -> dict[str, Numbers]:
    """
    Measures the delay of records at 200 a second, as latency does.

    Raises:
        Stuck: records do not arrive.
    """
    return latency.measure(latency.STREAMS[0], *_for(change, peers, conditions))


def _for(
    change: Change, peers: list[Peer], conditions: Conditions
) -> tuple[list[Peer], Conditions]:
    own = {OURS: change.ours, JAVA: change.java}
    return [_importing(peer) for peer in peers], replace(conditions, own_settings=own)


def _importing(peer: Peer) -> Peer:
    """The peer, able to import the functions of this benchmark."""

    def command(file: Path, folder: Path) -> list[str]:
        return ["/usr/bin/env", f"PYTHONPATH={ROOT}", *peer.command(file, folder)]

    return replace(peer, command=command)
