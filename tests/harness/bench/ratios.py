"""Writes what ``./scripts/bench all --json`` has found into the documentation, as ratios."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.harness.bench.measurements import JAVA, LEGACY, OURS, BenchOutcome
from tests.harness.bench.rows import ROWS
from tests.harness.outcomes import markdown, write_table
from tests.support.layout import ROOT

PAGES: Final = (ROOT / "docs" / "explanation" / "performance.md", ROOT / "README.md")
SUMMARY: Final = "summary"

_COLUMNS: Final = {
    SUMMARY: {
        "records_s": "records/s",
        "cpu_mirror": "CPU per GB, whole mirror",
        "cpu_brokers": "CPU per GB, brokers",
    },
    "throughput": {
        "records_s": "records/s",
        "cpu_copying": "CPU per GB, what copies",
        "cpu_mirror": "CPU per GB, whole mirror",
        "cpu_brokers": "CPU per GB, brokers",
        "brokers_share": "",
    },
    "transforms": {
        "records_s": "records/s",
        "cpu_copying": "CPU per GB, what copies",
        "cpu_mirror": "CPU per GB, whole mirror",
        "brokers_share": "",
    },
    "transforms-delay": {"beyond_p50_ms": "p50", "beyond_p99_ms": "p99"},
    "latency": {"beyond_p50_ms": "p50", "beyond_p99_ms": "p99"},
    "start": {"start_s": "time"},
    LEGACY: {
        "whole_s": "time with the start",
        "records_s": "records/s without it",
        "cpu_mirror": "CPU per GB, whole tool",
    },
    "idle": {
        "idle_cores": "CPU of the mirror",
        "idle_brokers_cores": "CPU of the brokers",
        "p50_ms": "p50 of a record's delay",
        "p99_ms": "p99",
    },
    "memory": {
        "copying_mb": "copying",
        "copying_pss_mb": "copying, shared pages once",
        "stalled_mb": "target stalled",
        "stalled_pss_mb": "target stalled, shared pages once",
    },
}
"""Columns of each benchmark's table: all but one are mm2's part of Java's."""

_SHARE: Final = "brokers_share"
_SHARE_HEADING: Final = "machine used by the brokers: mm2, Java"


def write_tables(outcomes: Sequence[BenchOutcome], pages: Sequence[Path] = PAGES) -> None:
    """
    Renews the tables of the pages that the outcomes have something to say about.

    Rows without an outcome stay as they are.
    """
    tables = {
        benchmark: [outcome for outcome in outcomes if outcome.benchmark == benchmark]
        for benchmark in dict.fromkeys(outcome.benchmark for outcome in outcomes)
    }
    titles = [row.title for row in ROWS]
    if "throughput" in tables:
        tables[SUMMARY] = tables["throughput"]
    for page in pages:
        for benchmark, rows in tables.items():
            write_table(f"bench: {benchmark}", table_of(benchmark, rows), page, titles)


def table_of(benchmark: str, outcomes: Sequence[BenchOutcome]) -> str:
    """The outcomes of one benchmark as a Markdown table of ratios."""
    columns = _COLUMNS[benchmark]
    heading = ["mm2 : Java", *(name or _SHARE_HEADING for name in columns.values())]
    return markdown(
        heading, ([each.title, *(_cell(each, kind) for kind in columns)] for each in outcomes)
    )


def _cell(outcome: BenchOutcome, kind: str) -> str:
    if kind == _SHARE:
        shares = [outcome.numbers.get(peer, {}).get(kind) for peer in (OURS, JAVA)]
        return ", ".join("-" if share is None else f"{share:.0%}" for share in shares)
    ratio = outcome.ratio(kind)
    return "-" if ratio is None else f"{ratio:.2f}"
