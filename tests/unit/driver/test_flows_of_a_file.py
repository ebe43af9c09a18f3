"""Which flows the driver runs, and which files it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from mm2.driver.flows_of_file import load_flows
from mm2.errors import ConfigError, ConfigErrors

_CLUSTERS = "clusters = A, B\nA.bootstrap.servers = a:9092\nB.bootstrap.servers = b:9092\n"


def _file(folder: Path, text: str) -> Path:
    path = folder / "mm2.properties"
    path.write_text(_CLUSTERS + text)
    return path


def test_clusters_restrict_the_flows_by_their_target(tmp_path: Path) -> None:
    """C004."""
    path = _file(tmp_path, "A->B.enabled = true\nB->A.enabled = true\n")
    assert {str(flow.flow) for flow in load_flows(path, None)} == {"A->B", "B->A"}
    assert [str(flow.flow) for flow in load_flows(path, ["B"])] == ["A->B"]


def test_a_file_without_a_flow_is_refused(tmp_path: Path) -> None:
    """C005."""
    path = _file(tmp_path, "emit.heartbeats.enabled = false\n")
    with pytest.raises(ConfigError, match=r"No source->target replication flows\."):
        load_flows(path, None)


def test_the_mistakes_of_all_flows_come_together(tmp_path: Path) -> None:
    path = _file(tmp_path, "A->B.tasks.max = many\nB->A.offset.lag.max = 1x\n")
    with pytest.raises(ConfigErrors) as caught:
        load_flows(path, None)
    assert [problem.line for problem in caught.value.problems] == [4, 5]
