"""What ``mm2 status`` refuses, what it shows without a cluster, and what it ends with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner
from msgspec import structs

from mm2.cli.flows.status_commands import exit_status
from mm2.cli.flows.status_rows import COLUMNS, rows_of
from mm2.cli.mm2 import main
from mm2.config.flow_config import FlowConfig
from mm2.core.connect.status_records import RunState
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.errors import Unavailable
from mm2.herder.view.flow_views import (
    ConnectorView,
    FlowView,
    LeaderView,
    NodeView,
    PartitionView,
    TaskView,
)
from tests.support.configs import TWO_CLUSTERS_TEXT

_FLOW: Final = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
_TASK: Final = TaskView(
    task=3, state=RunState.FAILED, worker_id="n", generation=7, trace="t-0: no\nt-1: no"
)
_VIEW: Final = FlowView(
    flow=_FLOW,
    time_ms=100_000,
    leader=LeaderView(epoch=7, worker_id="n", age_ms=0, is_alive=True),
    nodes=(NodeView(node="n", host="h", leads=True),),
    connectors=(
        ConnectorView(
            name="MirrorSourceConnector",
            target_state=RunState.RUNNING,
            state=RunState.RUNNING,
            worker_id="n",
            generation=7,
            tasks=(_TASK,),
        ),
    ),
    partitions=(
        PartitionView(
            source=TopicPartition(TopicName("t"), 0),
            remote=TopicName("A.t"),
            task=3,
            position=4,
            end=9,
            lag=4,
            records_per_s=1.6,
            latency_ms=20,
            error="no\nway",
            reported_ms=99_500,
        ),
        PartitionView(
            source=TopicPartition(TopicName("t"), 1), remote=TopicName("A.t"), task=3, lag=1
        ),
    ),
    heartbeat_ms=99_000,
)
_LOST: Final = Unavailable("B", "no answer")


@pytest.mark.parametrize("by", list(COLUMNS))
def test_every_row_has_all_columns(by: str) -> None:
    rows = rows_of(_FLOW, _VIEW, by)
    assert rows
    assert all(tuple(each.row) == tuple(COLUMNS[by]) for each in rows)


def test_a_flow_is_a_row() -> None:
    (shown,) = rows_of(_FLOW, _VIEW, "flow")
    assert shown.is_bad
    assert shown.row == {
        "flow": "A->B",
        "state": "FAILED",
        "leader": "n",
        "tasks": 1,
        "running": 0,
        "partitions": 2,
        "lag": 5,
        "percent": None,
        "bytes_left": None,
        "eta_ms": None,
        "records_per_s": 2,
        "bytes_per_s": 0,
        "delay_ms": 20,
        "heartbeat_age_ms": 1_000,
        "problems": "MirrorSourceConnector task 3: t-0: no (and more)",
    }


def test_a_topic_is_a_row_with_how_far_its_copy_is() -> None:
    known = structs.replace(
        _VIEW.partitions[0], start=0, end=104, lag_per_s=-2.0, record_bytes=10.0
    )
    more = structs.replace(known, source=TopicPartition(TopicName("t"), 1), lag=48)
    (shown,) = rows_of(_FLOW, replace(_VIEW, partitions=(known, more)), "topic")
    assert shown.is_bad
    assert shown.row == {
        "flow": "A->B",
        "topic": "t",
        "remote": "A.t",
        "partitions": 2,
        "lag": 52,
        "percent": 75,
        "bytes_left": 520,
        "eta_ms": 13_000,
        "records_per_s": 3,
        "bytes_per_s": 0,
        "delay_ms": 20,
        "error": "no; way",
    }


def test_the_topology_names_clusters_and_what_is_copied_between_them() -> None:
    (shown,) = rows_of(_FLOW, _VIEW, "topology")
    assert (shown.row["source"], shown.row["target"], shown.row["topics"]) == ("A", "B", 1)
    (lost,) = rows_of(_FLOW, _LOST, "topology")
    assert (lost.row["target"], lost.row["problems"]) == ("B", "cluster B: no answer")


def test_the_partitions_that_are_most_behind_come_first() -> None:
    partitions = [
        structs.replace(_VIEW.partitions[0], source=TopicPartition(TopicName("t"), n), lag=lag)
        for n, lag in enumerate((3, 900, None, 20))
    ]
    rows = rows_of(_FLOW, replace(_VIEW, partitions=tuple(partitions)), "lag")
    assert [(each.row["partition"], each.row["lag"]) for each in rows] == [
        (1, 900),
        (3, 20),
        (0, 3),
        (2, None),
    ]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ((), [("orders", 900), ("orders", 20), ("payments", 5), ("orders.old", 3)]),
        (("--top", "2"), [("orders", 900), ("orders", 20)]),
        (("--topics", "orders"), [("orders", 900), ("orders", 20)]),
        (("--topics", "pay.*,orders[.]old"), [("payments", 5), ("orders.old", 3)]),
        (("--topics", "pay.*,orders", "--top", "1"), [("orders", 900)]),
    ],
)
def test_some_of_many_partitions_are_shown_on_demand(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    shown: list[tuple[str, int]],
) -> None:
    lags = [("orders.old", 3), ("orders", 900), ("payments", 5), ("orders", 20)]
    partitions = [
        structs.replace(
            _VIEW.partitions[0], source=TopicPartition(TopicName(topic), number), lag=lag
        )
        for number, (topic, lag) in enumerate(lags)
    ]

    async def view(_: FlowConfig) -> FlowView:
        return replace(_VIEW, partitions=tuple(partitions))

    monkeypatch.setattr("mm2.cli.flows.status_commands.view_flow", view)
    file = tmp_path / "mm2.properties"
    text = TWO_CLUSTERS_TEXT + "A->B.enabled = true\nemit.heartbeats.enabled = false\n"
    file.write_text(text)
    done = CliRunner().invoke(main, ["lag", str(file), *words, "--format", "json"])
    assert [(each["topic"], each["lag"]) for each in json.loads(done.stdout)] == shown
    assert done.exit_code == 1


def test_a_connector_and_its_tasks_are_rows() -> None:
    connector, task = rows_of(_FLOW, _VIEW, "task")
    assert (connector.row["task"], connector.is_bad) == (None, False)
    assert (task.row["task"], task.row["trace"], task.is_bad) == (3, "t-0: no; t-1: no", True)


def test_a_partition_is_a_row() -> None:
    first, second = (each.row for each in rows_of(_FLOW, _VIEW, "partition"))
    assert (first["position"], first["error"], first["report_age_ms"]) == (4, "no; way", 500)
    assert (second["position"], second["error"], second["report_age_ms"]) == (None, None, None)


def test_what_nobody_has_reported_is_blank() -> None:
    """A flow that has just begun, or that nobody leads, used to have no lag and no delay."""
    blank = dict.fromkeys(("lag", "records_per_s", "bytes_per_s", "delay_ms"))
    for partitions in ((), _VIEW.partitions[1:]):
        (shown,) = rows_of(_FLOW, replace(_VIEW, partitions=partitions), "flow")
        assert blank.items() <= shown.row.items()
    unknown = rows_of(_FLOW, _VIEW, "partition")[1].row
    counts = dict.fromkeys(("lost", "skipped", "left_out"))
    assert {**blank, **counts, "lag": 1}.items() <= unknown.items()
    (lost,) = rows_of(_FLOW, replace(_VIEW, leader=None), "flow")
    assert (lost.row["lag"], lost.row["records_per_s"], lost.row["delay_ms"]) == (5, None, None)


def test_the_age_of_a_backlog_is_no_delay() -> None:
    behind = structs.replace(_VIEW.partitions[0], lag=1_000_000, latency_ms=86_400_000)
    view = replace(_VIEW, partitions=(behind,))
    for by in ("flow", "partition"):
        (shown,) = rows_of(_FLOW, view, by)
        assert (shown.row["lag"], shown.row["delay_ms"]) == (1_000_000, None)


def test_a_lag_that_is_not_known_everywhere_is_none() -> None:
    partitions = (*_VIEW.partitions, structs.replace(_VIEW.partitions[1], lag=None))
    (shown,) = rows_of(_FLOW, replace(_VIEW, partitions=partitions), "flow")
    assert shown.row["lag"] is None


def test_a_target_that_is_away_has_a_row_among_flows_only() -> None:
    (shown,) = rows_of(_FLOW, _LOST, "flow")
    assert shown.is_bad
    assert (shown.row["flow"], shown.row["state"]) == ("A->B", None)
    assert shown.row["problems"] == "cluster B: no answer"
    assert rows_of(_FLOW, _LOST, "task") == []


def test_the_worst_flow_decides_on_the_exit_status() -> None:
    fine = replace(_VIEW, connectors=())
    assert exit_status([fine]) == exit_status([]) == 0
    assert exit_status([fine, _VIEW]) == 1
    assert exit_status([_VIEW, _LOST, fine]) == 3


@pytest.mark.parametrize(
    "words", [("--flow", "B->C"), ("--by", "colour"), ("--watch", "0"), ("--format", "xml")]
)
def test_wrong_usage_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(TWO_CLUSTERS_TEXT + "A->B.enabled = true\n")
    assert CliRunner().invoke(main, ["status", str(file), *words]).exit_code == 2


@pytest.mark.parametrize("words", [("--topics", "["), ("--top", "0")])
def test_what_chooses_among_partitions_is_checked(tmp_path: Path, words: tuple[str, ...]) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(TWO_CLUSTERS_TEXT + "A->B.enabled = true\n")
    done = CliRunner().invoke(main, ["lag", str(file), *words])
    assert (done.exit_code, words[0] in done.stderr) == (2, True)
