"""Spark's history server reads the event log of a mirror: its jobs have the names of flows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.history_server import HistoryServer
from tests.support.mirror import Mirror, one_way
from tests.support.records import Sample, consume, create_topic, produce

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def test_it_shows_each_task_of_a_flow_as_a_job_with_its_name(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    events = tmp_path / "events"
    events.mkdir()
    create_topic(cluster_a.bootstrap, unique)
    produce(cluster_a.bootstrap, unique, [Sample(value=b"v")])
    settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": events.as_uri()}
    with Mirror(tmp_path, one_way(cluster_a, cluster_b, unique, settings)) as mirror:
        consume(cluster_b.bootstrap, f"A.{unique}", 1, timeout=120)
        assert mirror.stop() == 0
    with HistoryServer(events, tmp_path) as history:
        (application,) = history.applications()
        path = f"applications/{application['id']}"
        jobs = [job for job in history.get(f"{path}/jobs") if job.get("jobGroup", "")[:4] == "A->B"]
        stages = history.get(f"{path}/stages")
    assert {job["jobGroup"] for job in jobs} >= {"A->B/0"}
    assert {job["status"] for job in jobs} == {"SUCCEEDED"}
    named = {job["jobGroup"]: job["description"] for job in jobs}
    assert named["A->B/0"] == "mirrors bundle A->B/0"
    assert "mirrors bundle A->B/0" in {stage["name"] for stage in stages}
