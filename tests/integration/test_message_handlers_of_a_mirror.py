"""Message handlers that a properties file names: in Spark's tasks, over the death of the driver."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, one_way
from tests.support.records import (
    Sample,
    committed,
    consume,
    create_topic,
    heartbeat,
    produce,
)

pytestmark = [pytest.mark.broker, pytest.mark.spark]

_USER_CODE = """
from dataclasses import replace


class Repeats:
    def init(self, args):
        self.times = int(args)

    async def handle(self, record):
        return [replace(record, headers=(("copy", b"%d" % n),)) for n in range(self.times)]
"""


@pytest.fixture
def user_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors of a cluster find it where the file says."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "mirror_user_code.py").write_text(_USER_CODE)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)


def _settings(unique: str, **more: str) -> Mapping[str, str]:
    return {
        "A->B.message.handler": "mirror_user_code:Repeats",
        "A->B.message.handler.args": "3",
        "A->B.message.handler.topics": f"{unique}-t, {unique}-heartbeats",
        **more,
    }


@pytest.mark.also_on_spark_cluster
@pytest.mark.usefixtures("user_code")
@pytest.mark.parametrize(
    "support", [pytest.param("disabled", marks=pytest.mark.thorough), "enabled"]
)
def test_each_record_becomes_three_and_a_killed_driver_repeats_none(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path, support: str
) -> None:
    changed, plain, beats = f"{unique}-t", f"{unique}-plain", f"{unique}-heartbeats"
    settings = {
        **_settings(unique, **{"B.exactly.once.source.support": support}),
        "spark.executorEnv.PYTHONPATH": str(tmp_path / "code"),
    }
    text = one_way(cluster_a, cluster_b, f"{unique}-.*", settings)
    for topic in (changed, plain):
        create_topic(cluster_a.bootstrap, topic)
        produce(cluster_a.bootstrap, topic, [Sample(value=b"%d" % n) for n in range(50)])
    create_topic(cluster_a.bootstrap, beats)
    produce(cluster_a.bootstrap, beats, [heartbeat()])
    with Mirror(tmp_path, text) as mirror:
        consume(cluster_b.bootstrap, f"A.{changed}", 150)
        # Behind a stored position, copies are recognised.
        eventually(lambda: _is_position_stored(cluster_b, changed))
        produce(cluster_a.bootstrap, changed, [Sample(value=b"%d" % n) for n in range(50, 90)])
        mirror.kill()
        mirror.wait_gone()
    with Mirror(tmp_path, text) as mirror:
        produce(cluster_a.bootstrap, changed, [Sample(value=b"%d" % n) for n in range(90, 100)])
        copies = eventually(
            lambda: committed(cluster_b.bootstrap, f"A.{changed}"),
            until=lambda found: len(found) >= 300,
        )
        assert len(consume(cluster_b.bootstrap, f"A.{plain}", 50)) == 50
        (beat,) = committed(cluster_b.bootstrap, f"A.{beats}")
        assert mirror.stop() == 0
    assert beat.content == heartbeat().content
    assert [(each.value, each.headers) for each in copies] == [
        (b"%d" % n, (("copy", b"%d" % copy),)) for n in range(100) for copy in range(3)
    ]


def test_a_handler_that_cannot_be_imported_fails_its_flow_and_is_named(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    text = one_way(cluster_a, cluster_b, f"{unique}-.*", _settings(unique))
    with Mirror(tmp_path, text) as mirror:
        eventually(lambda: "No module named 'mirror_user_code'" in mirror.text())
        assert "message.handler" in mirror.text()
        mirror.stop()


def _is_position_stored(target: Cluster, topic: str) -> bool:
    positions = committed(target.bootstrap, "mm2-offsets.A.internal")
    return any(topic.encode() in (each.key or b"") for each in positions)
