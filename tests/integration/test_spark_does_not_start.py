"""What a node does when Spark does not start: it says why, once, and ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.spark.engine import SparkEngine
from mm2.errors import FatalError
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S
from tests.support.mirror import Mirror, one_way

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"spark.eventLog.enabled": "true", "spark.eventLog.dir": "/no/such/folder"},
            r"/no/such/folder does not exist \(see spark.eventLog.dir\)",
        ),
        ({"spark.master": "spark://127.0.0.1:1"}, "spark.master=spark://127.0.0.1:1: .*refused"),
        ({"spark.master": "lokal[2]"}, "Master must either be yarn or start with"),
        (
            {"spark.driver.extraJavaOptions": "-XX:+NoSuchOption"},
            r"Unrecognized VM option 'NoSuchOption' \(see spark.driver.extraJavaOptions",
        ),
    ],
    ids=["event-log", "master-away", "no-master", "java-option"],
)
async def test_the_reason_is_the_same_each_time(settings: dict[str, str], says: str) -> None:
    """Who asked again waited for a JVM that had spoken already, for ever."""
    engine = SparkEngine(settings, task=lambda _: {})
    for _ in range(2):
        with pytest.raises(FatalError, match=f"Spark does not start: .*{says}"):
            await engine.start()
    await engine.stop()


@pytest.mark.broker
def test_a_node_whose_flow_is_led_already_ends_with_one_error(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    folder = tmp_path / "none"
    settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": str(folder)}
    with Mirror(tmp_path, one_way(cluster_a, cluster_b, unique, settings)) as mirror:
        assert mirror.process.wait(PATIENCE_S) == 3
        mirror.wait_gone()
        (error,) = [line for line in mirror.text().splitlines() if '"level": "critical"' in line]
        assert f"{folder} does not exist (see spark.eventLog.dir)" in error
        assert '"level": "error"' not in mirror.text()
