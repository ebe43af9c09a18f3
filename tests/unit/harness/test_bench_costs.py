"""``./scripts/bench costs`` keeps what it measures, and writes it into the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.harness.bench import __main__ as bench
from tests.harness.bench import costs
from tests.harness.bench.executors import Executors
from tests.harness.bench.measurements import Numbers
from tests.harness.bench.mirrors import Peer
from tests.harness.bench.throughput import Conditions
from tests.harness.bench.workload import Workload

_NUMBERS = {
    "megabytes_s": 80.0,
    "cpu_tasks": 2.0,
    "cpu_driver": 0.25,
    "cpu_JVM": 0.05,
    "mirror_share": 0.5,
    "brokers_share": 0.25,
}
_PAGE = """\
# A page
<!-- scale-copying -->
| old |
<!-- end -->
<!-- scale-tasks -->
<!-- end -->
<!-- scale-executors -->
<!-- end -->
"""
_OF_EXECUTORS = {"cpu_executors": 0.125, "JVM_mb": 200.0, "tasks_mb": 150.0, "pss_mb": 300.0}


def _measured(workload: Workload, peers: list[Peer], _: Conditions) -> dict[str, Numbers]:
    del workload
    return {peer.name: _NUMBERS for peer in peers}


def _on_executors(executors: Executors, workload: Workload, scale: float) -> Numbers:
    del workload, scale
    return {**_NUMBERS, **_OF_EXECUTORS, "megabytes_s": 100.0 * executors.count}


@pytest.fixture(autouse=True)
def page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    found = tmp_path / "page.md"
    found.write_text(_PAGE)
    monkeypatch.setattr(costs, "PAGE", found)
    monkeypatch.setattr(costs, "measure", _measured)
    monkeypatch.setattr(costs, "measure_executors", _on_executors)
    return found


def _rows(page: Path) -> Sequence[str]:
    return [line for line in page.read_text().splitlines() if line.startswith("|")]


def test_what_is_measured_goes_into_the_tables(page: Path, tmp_path: Path) -> None:
    kept = str(tmp_path / "costs.json")
    chosen = ["--workloads", "kilobyte-none", "single", "--executors", "--partitions", "--groups"]
    assert bench.main(["costs", "--json", kept, "--tasks", "1", "2", *chosen]) == 0
    assert bench.main(["costs-report", kept]) == 0
    rows = _rows(page)
    assert rows[0] == "|  | MB/s | CPU-s/GB | ms/MB | µs/batch | µs/record |"
    assert rows[2] == "| 1 KB records, 128 KB batches, none | 80 | 2 | 2 | 256 | 2 |"
    assert rows[3] == "| 100 B records, one to a batch | 80 | 2 | 2 | 0.2 | 0.2 |"
    assert [row[:4] for row in rows[6:]] == ["| 1 ", "| 2 "]
    assert "| old |" not in rows


def test_executors_have_a_table_of_their_own(page: Path, tmp_path: Path) -> None:
    kept = str(tmp_path / "costs.json")
    others = ["--workloads", "--tasks", "--partitions", "--groups"]
    assert bench.main(["costs", "--json", kept, "--executors", "2x1", "1x2", *others]) == 0
    assert bench.main(["costs-report", kept]) == 0
    heading, _, *rows = _rows(page)[1:]
    assert heading.startswith("|  | MB/s | CPU-s/GB of tasks | CPU-s/GB of driver and its JVM |")
    assert rows == [
        "| 2 of 1 core | 200 | 2 | 0.3 | 0.125 | 200 | 150 | 300 |",
        "| 1 of 2 cores | 100 | 2 | 0.3 | 0.125 | 200 | 150 | 300 |",
    ]


@pytest.mark.parametrize("text", ["2", "0x1", "2x", "2x1x1"])
def test_executors_are_given_with_their_cores(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        bench.main(["costs", "--executors", text])
    assert "is not like 4x1" in capsys.readouterr().err
