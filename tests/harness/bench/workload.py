"""What is copied: topics filled once, for both mirrors to copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

from tests.harness.bench.fill import write_batches, write_compacted, write_transactions
from tests.support.records import create_topic

TOPIC: Final = "bench-records"


class Fill(Protocol):
    """Writes records to a topic; returns how many a mirror has to copy."""

    def __call__(
        self, bootstrap: str, topic: str, partitions: int, *, size: int, records: int
    ) -> int:
        """Writes about ``records`` records of ``size`` bytes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """
    A topic to copy.

    Attributes:
        name: names the row.
        title: for people.
        size: of a record's value, in bytes.
        records: about how many are written.
        fill: writes them.
        partitions: of the topic.
        configs: of the topic.
        settings: more lines of the mirrors' properties file.
        brokers: of the target cluster; also the replication factor.
    """

    name: str
    title: str
    size: int
    records: int
    fill: Fill
    partitions: int = 4
    configs: Mapping[str, str] = field(default_factory=dict)
    settings: str = ""
    brokers: int = 1

    def write(self, bootstrap: str, scale: float) -> int:
        """Creates and fills the topic; returns how many records there are to copy."""
        create_topic(bootstrap, TOPIC, self.partitions, self.configs)
        records = max(1, int(self.records * scale))
        return self.fill(bootstrap, TOPIC, self.partitions, size=self.size, records=records)


_JAVAS_LZ4: Final = 1
"""The fast compressor, which producers of Java take by default; level 9 makes smaller batches."""


def in_batches(codec: str, in_batch: int, keys: int = 0, level: int | None = None) -> Fill:
    """Writes so many records to a batch."""
    return partial(write_batches, codec=codec, in_batch=in_batch, keys=keys, level=level)


def _kilobyte(codec: str) -> Workload:
    return Workload(
        name=f"kilobyte-{codec}",
        title=f"1 KB records, 128 KB batches, {codec}",
        size=1_000,
        records=3_000_000,
        fill=in_batches(codec, 128),
    )


_WORKLOADS: Final = (
    _kilobyte("none"),
    _kilobyte("lz4"),
    _kilobyte("zstd"),
    Workload(
        name="small-lz4",
        title="100 B records, 16 KB batches, lz4",
        size=100,
        records=10_000_000,
        fill=in_batches("lz4", 150),
    ),
    Workload(
        name="single",
        title="100 B records, one to a batch",
        size=100,
        records=4_000_000,
        fill=in_batches("none", 1),
        partitions=16,
    ),
    Workload(
        name="compacted",
        title="compacted topic: 100 B records, lz4, gaps in the batches",
        size=100,
        records=4_000_000,
        fill=write_compacted,
        configs={
            "cleanup.policy": "compact",
            "segment.bytes": str(1 << 20),
            "min.cleanable.dirty.ratio": "0.01",
        },
    ),
    Workload(
        name="transactional",
        title="transactions, a quarter aborted, read_committed: 100 B records, lz4",
        size=100,
        records=4_000_000,
        fill=partial(write_transactions, in_each=5_000),
        settings="A.consumer.isolation.level = read_committed\n",
    ),
    Workload(
        name="recompressed",
        title="lz4 to zstd, as the user asks: 1 KB records, 128 KB batches",
        size=1_000,
        records=600_000,
        fill=in_batches("lz4", 128),
        settings="B.producer.compression.type = zstd\n",
    ),
    Workload(
        name="replicated",
        title="1 KB records, 128 KB batches, lz4, to three brokers, all of which must have them",
        size=1_000,
        records=600_000,
        fill=in_batches("lz4", 128, level=_JAVAS_LZ4),
        brokers=3,
    ),
)

WORKLOADS: Final[Mapping[str, Workload]] = {each.name: each for each in _WORKLOADS}
"""The rows of the throughput benchmark, in their order."""

SMALL_WITH_KEYS: Final = Workload(
    name="small",
    title="2 million 100 B records, lz4",
    size=100,
    records=2_000_000,
    fill=in_batches("lz4", 150, keys=10_000),
)
KILOBYTE_WITH_KEYS: Final = Workload(
    name="kilobyte",
    title="600 MB of 1 KB records",
    size=1_000,
    records=600_000,
    fill=in_batches("none", 16, keys=10_000),
)
