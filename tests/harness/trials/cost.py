"""What exact runs cost: bytes in their topic, and runs in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mm2.core.model import ClusterAlias
from mm2.core.translation.offset_translation import RunStore
from mm2.core.translation.run_codec import runs_topic
from tests.harness.bench.copied import wait_for
from tests.harness.bench.mirrors import OURS, running
from tests.harness.bench.settings import properties, source_cluster, target_cluster
from tests.harness.bench.workload import WORKLOADS
from tests.harness.outcomes import markdown
from tests.support.cluster import running as clusters
from tests.support.raw import log_of, records_in

KINDS: Final = ("small-lz4", "compacted", "transactional")
_RECORDS: Final = 1_000_000
_HEADINGS: Final = (
    "copied",
    "records",
    "runs",
    "bytes written",
    "bytes kept after compaction",
    "of these, for each run",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """
    What the runs of one topic cost.

    Attributes:
        title: of what was copied.
        records: that were copied.
        runs: that they make.
        written: bytes appended to the topic of runs.
        kept: bytes of keys and values that are left after compaction.
    """

    title: str
    records: int
    runs: int
    written: int
    kept: int


def measure(kind: str, scale: float = 1.0) -> Cost:
    """Copies a topic of the throughput benchmark and looks at what runs came of it."""
    workload = WORKLOADS[kind]
    source, target = source_cluster(), target_cluster()
    with clusters(source, target):
        records = workload.write(source.bootstrap, scale * _RECORDS / workload.records)
        text = properties(source, target, tasks=2, more=workload.settings)
        with running(OURS, text) as mirror:
            wait_for(mirror, target.bootstrap, workload.partitions, records)
        log = log_of(source.bootstrap, runs_topic(ClusterAlias("B")))
    store = RunStore()
    latest: dict[bytes | None, int] = {}
    for record in records_in(log):
        store.handle(record.key, record.value)
        latest[record.key] = len(record.key or b"") + len(record.value or b"")
    return Cost(
        title=workload.title,
        records=records,
        runs=sum(len(block.runs) for each in store.partitions.values() for block in each.blocks),
        written=sum(len(batch.data) for batch in log),
        kept=sum(latest.values()),
    )


def table_of(costs: Sequence[Cost]) -> str:
    """The costs as a Markdown table."""
    lines = []
    for cost in costs:
        per_run = cost.kept / cost.runs
        numbers = (cost.records, cost.runs, cost.written, cost.kept)
        lines.append([cost.title, *(f"{number:,}" for number in numbers), f"{per_run:.1f}"])
    return markdown(_HEADINGS, lines)
