"""What the benchmarks found: kept, compared, and written into pages."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from rich.console import Console

from tests.harness.bench.measurements import BenchOutcome, load, table
from tests.harness.bench.ratios import PAGES, table_of, write_tables
from tests.harness.bench.rows import ROWS, Row
from tests.harness.outcomes import save

LZ4 = BenchOutcome(
    benchmark="throughput",
    row="kilobyte-lz4",
    title="1 KB",
    numbers={
        "mm2": {"records_s": 900.0, "cpu_mirror": 1.0, "cpu_tasks": 0.5, "brokers_share": 0.75},
        "java": {"records_s": 300.0, "cpu_mirror": 8.0, "brokers_share": 0.25},
    },
)
FAILED = BenchOutcome(benchmark="throughput", row="single", title="one to a batch", error="stuck")


def _delays(row: Row, *, ours: float) -> BenchOutcome:
    return BenchOutcome(
        benchmark=row.benchmark,
        row=row.name,
        title=row.title,
        numbers={
            "mm2": {"beyond_p50_ms": ours, "beyond_p99_ms": ours},
            "java": {"beyond_p50_ms": 4.0, "beyond_p99_ms": 4.0},
        },
    )


def test_outcomes_come_back_from_their_file(tmp_path: Path) -> None:
    save([LZ4, FAILED], tmp_path / "bench.json")
    assert load(tmp_path / "bench.json") == [LZ4, FAILED]


def test_a_table_has_ratios_never_the_numbers() -> None:
    head, _, lz4, failed = table_of("throughput", [LZ4, FAILED]).splitlines()
    assert [c.strip() for c in head.split("|")[1:3]] == ["mm2 : Java", "records/s"]
    assert lz4 == "| 1 KB | 3.00 | - | 0.12 | - | 75%, 25% |"
    assert failed == "| one to a batch | - | - | - | - | -, - |"


def test_only_the_tables_of_a_page_change(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- bench: throughput -->\n| old |\n<!-- end -->\nb | c\n")
    for _ in range(2):
        write_tables([LZ4], [page])
        assert page.read_text() == (
            f"a\n<!-- bench: throughput -->\n{table_of('throughput', [LZ4])}<!-- end -->\nb | c\n"
        )


def test_rows_that_were_not_measured_stay_in_their_place(tmp_path: Path) -> None:
    first, second, third = [row for row in ROWS if row.benchmark == "transforms-delay"][:3]
    page = tmp_path / "page.md"
    page.write_text("<!-- bench: transforms-delay -->\n<!-- end -->\n")
    for measured in ((first, third), (second,), (first,)):
        write_tables([_delays(each, ours=len(measured)) for each in measured], [page])
    assert page.read_text().splitlines()[3:-1] == [
        f"| {first.title} | 0.25 | 0.25 |",
        f"| {second.title} | 0.25 | 0.25 |",
        f"| {third.title} | 0.50 | 0.50 |",
    ]


def test_rows_go_with_the_columns_that_they_had(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    row = ROWS[0]
    page.write_text(
        f"<!-- bench: throughput -->\n| old |\n| --- |\n| {row.title} |\n<!-- end -->\n"
    )
    write_tables([LZ4], [page])
    assert row.title not in page.read_text()


def test_the_documentation_has_a_place_for_each_benchmark() -> None:
    text = "".join(page.read_text() for page in PAGES)
    for benchmark in {"summary", *(row.benchmark for row in ROWS)}:
        assert f"<!-- bench: {benchmark} -->\n" in text


def test_the_terminal_shows_both_and_their_ratio() -> None:
    console = Console(width=100, record=True, file=StringIO())
    console.print(table(LZ4))
    (line,) = [line for line in console.export_text().splitlines() if "records/s" in line]
    assert [word for word in line.split() if word[0].isdigit()] == ["900", "300", "3.00"]


def test_the_terminal_says_which_of_javas_tools_it_was() -> None:
    headings = [
        str(
            table(BenchOutcome(benchmark=name, row="", title="", numbers=LZ4.numbers))
            .columns[2]
            .header
        )
        for name in ("throughput", "legacy")
    ]
    assert headings == ["Java MirrorMaker 4.3.0", "Java MirrorMaker 3.9.1"]
