"""What a benchmark found, as it is shown, kept as JSON, and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rich.table import Table

from mm2.demo.kafka_jars import KAFKA_VERSION
from tests.harness.outcomes import saved
from tests.support.layout import OLDER_VERSION

OURS: Final = "mm2"
JAVA: Final = "java"
LEGACY: Final = "legacy"
"""The benchmark whose peer is the legacy tool, which Kafka 4 has no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """
    A kind of number.

    Attributes:
        label: for people, with the unit.
        layout: of the number.
        has_ratio: whether mm2's part of Java's means anything.
    """

    label: str
    layout: str = "{:,.2f}"
    has_ratio: bool = True


MEASURES: Final[Mapping[str, Measure]] = {
    "records_s": Measure(label="records/s", layout="{:,.0f}"),
    "megabytes_s": Measure(label="MB/s", layout="{:,.1f}"),
    "cpu_copying": Measure(label="CPU-s/GB, what copies (mm2: tasks; Java: all)"),
    "cpu_mirror": Measure(label="CPU-s/GB, whole mirror"),
    "cpu_tasks": Measure(label="  of it Python tasks", has_ratio=False),
    "cpu_driver": Measure(label="  of it driver", has_ratio=False),
    "cpu_JVM": Measure(label="  of it JVM", has_ratio=False),
    "cpu_brokers": Measure(label="CPU-s/GB, brokers"),
    "brokers_share": Measure(label="brokers' part of the machine", layout="{:.0%}"),
    "mirror_share": Measure(label="mirror's part of the machine", layout="{:.0%}"),
    "whole_s": Measure(label="start to last record, s", layout="{:.1f}"),
    "start_s": Measure(label="start to first record, s", layout="{:.1f}"),
    "p50_ms": Measure(label="p50, ms", layout="{:.1f}"),
    "p99_ms": Measure(label="p99, ms", layout="{:.1f}"),
    "beyond_p50_ms": Measure(label="p50 beyond one cluster's, ms", layout="{:.1f}"),
    "beyond_p99_ms": Measure(label="p99 beyond one cluster's, ms", layout="{:.1f}"),
    "idle_cores": Measure(label="CPU while idle, cores", layout="{:.3f}"),
    "idle_brokers_cores": Measure(label="CPU of brokers while idle, cores", layout="{:.3f}"),
    "copying_mb": Measure(label="peak memory (RSS) while copying, MB", layout="{:,.0f}"),
    "copying_pss_mb": Measure(label="  shared pages counted once (PSS)", layout="{:,.0f}"),
    "stalled_mb": Measure(label="peak memory (RSS), target stalled, MB", layout="{:,.0f}"),
    "stalled_pss_mb": Measure(label="  shared pages counted once (PSS)", layout="{:,.0f}"),
    "tasks_mb": Measure(label="  of it Python tasks (RSS)", layout="{:,.0f}", has_ratio=False),
    "driver_mb": Measure(label="  of it driver (RSS)", layout="{:,.0f}", has_ratio=False),
    "JVM_mb": Measure(label="  of it JVM (RSS)", layout="{:,.0f}", has_ratio=False),
}
"""All kinds of numbers, in the order in which they are shown."""

Numbers = Mapping[str, float]
"""Numbers by kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOutcome:
    """
    One row of a benchmark.

    Attributes:
        benchmark: its command.
        row: which of its rows.
        title: for people.
        numbers: of each peer.
        error: why there are none, or not all.
    """

    benchmark: str
    row: str
    title: str
    numbers: Mapping[str, Numbers] = field(default_factory=dict)
    error: str = ""

    def ratio(self, kind: str) -> float | None:
        """
        mm2's number by Java's; None when one is missing, Java's is nothing, or one is negative.

        What is left of a delay after a subtraction is negative when the machine was too busy.
        """
        ours = self.numbers.get(OURS, {}).get(kind)
        java = self.numbers.get(JAVA, {}).get(kind)
        if ours is None or java is None:
            return None
        return ours / java if ours >= 0 < java else None


def table(outcome: BenchOutcome) -> Table:
    """The row as a table for a terminal."""
    found = Table(title=outcome.title, title_justify="left", title_style="bold")
    found.add_column("")
    for peer in outcome.numbers:
        found.add_column(_heading(peer, outcome.benchmark), justify="right")
    found.add_column("mm2 : Java", justify="right")
    for kind, measure in MEASURES.items():
        cells = [
            measure.layout.format(numbers[kind]) if kind in numbers else ""
            for numbers in outcome.numbers.values()
        ]
        if any(cells):
            ratio = outcome.ratio(kind) if measure.has_ratio else None
            found.add_row(measure.label, *cells, "" if ratio is None else f"{ratio:.2f}")
    return found


def _heading(peer: str, benchmark: str) -> str:
    if peer == OURS:
        return "mm2"
    version = OLDER_VERSION if benchmark == LEGACY else KAFKA_VERSION
    return f"Java MirrorMaker {version}"


def load(file: Path) -> Sequence[BenchOutcome]:
    """Reads what ``save`` has written."""
    return [BenchOutcome(**each) for each in saved(file)]
