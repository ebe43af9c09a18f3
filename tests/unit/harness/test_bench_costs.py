"""``./scripts/bench costs`` keeps what it measures, and writes it into the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.harness.bench import __main__ as bench
from tests.harness.bench import costs
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
"""


def _measured(workload: Workload, peers: list[Peer], _: Conditions) -> dict[str, Numbers]:
    del workload
    return {peer.name: _NUMBERS for peer in peers}


@pytest.fixture(autouse=True)
def page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    found = tmp_path / "page.md"
    found.write_text(_PAGE)
    monkeypatch.setattr(costs, "PAGE", found)
    monkeypatch.setattr(costs, "measure", _measured)
    return found


def _rows(page: Path) -> Sequence[str]:
    return [line for line in page.read_text().splitlines() if line.startswith("|")]


def test_what_is_measured_goes_into_the_tables(page: Path, tmp_path: Path) -> None:
    kept = str(tmp_path / "costs.json")
    chosen = ["--workloads", "kilobyte-none", "single", "--partitions", "--groups"]
    assert bench.main(["costs", "--json", kept, "--tasks", "1", "2", *chosen]) == 0
    assert bench.main(["costs-report", kept]) == 0
    rows = _rows(page)
    assert rows[0] == "|  | MB/s | CPU-s/GB | ms/MB | µs/batch | µs/record |"
    assert rows[2] == "| 1 KB records, 128 KB batches, none | 80 | 2 | 2 | 256 | 2 |"
    assert rows[3] == "| 100 B records, one to a batch | 80 | 2 | 2 | 0.2 | 0.2 |"
    assert [row[:4] for row in rows[6:]] == ["| 1 ", "| 2 "]
    assert "| old |" not in rows
