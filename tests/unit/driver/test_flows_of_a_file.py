"""Which flows the driver runs, and which files it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from mm2.driver.file_validation import made
from mm2.driver.flows_of_file import load_flows, read_flows
from mm2.errors import ConfigError, ConfigErrors
from tests.support.configs import TWO_CLUSTERS_TEXT


def _file(folder: Path, text: str) -> Path:
    path = folder / "mm2.properties"
    path.write_text(TWO_CLUSTERS_TEXT + text)
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


def test_what_is_wrong_with_one_flow_leaves_the_others_alone(tmp_path: Path) -> None:
    """C112."""
    path = _file(tmp_path, "A->B.enabled = true\nB->A.enabled = true\nB->A.tasks.max = 0\n")
    found = read_flows(path, None)
    assert [str(config.flow) for config in found.flows] == ["A->B"]
    (failed,) = found.failed
    assert str(failed.flow) == "B->A"
    assert failed.is_enabled
    assert [problem.line for problem in failed.problems] == [6]


def test_what_can_never_connect_leaves_the_flows_of_other_clusters_alone(tmp_path: Path) -> None:
    text = "C.bootstrap.servers = kafka1\nC->B.enabled = true\nA->B.enabled = true\n"
    path = _file(tmp_path, f"{text}emit.heartbeats.enabled = false\n")
    path.write_text(path.read_text().replace("A, B", "A, B, C"))
    left = made(read_flows(path, None))
    assert [str(config.flow) for config in left.flows] == ["A->B"]
    assert [str(failed.flow) for failed in left.failed] == ["C->B"]
    assert left.problems[0].key == "C.bootstrap.servers"


@pytest.mark.parametrize(
    "wrong", ["A->B.tasks.max = 0\n", "A->B.source.admin.retry.backoff.ms = x\n"]
)
def test_heartbeats_alone_are_not_what_a_file_was_written_for(tmp_path: Path, wrong: str) -> None:
    """B->A could still write its heartbeats."""
    path = _file(tmp_path, f"A->B.enabled = true\n{wrong}")
    with pytest.raises(ConfigErrors) as caught:
        made(read_flows(path, None))
    assert [problem.line for problem in caught.value.problems] == [5]


def test_what_all_flows_share_ends_them_all(tmp_path: Path) -> None:
    path = _file(tmp_path, "A->B.enabled = true\nrest.basic.auth.file = /no/such\n")
    with pytest.raises(ConfigErrors, match=r"line 5: rest\.basic\.auth\.file"):
        made(read_flows(path, None))
