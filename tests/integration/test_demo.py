"""
That the demo ends as it should, and that its proof would notice what differs.

The whole of it is run in test_readme.py, as the README and the tutorial show it.
"""

from __future__ import annotations

import dataclasses
import signal
import sys
import time
from pathlib import Path

import pytest

from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.demo.demo_traffic import shapes
from mm2.demo.raw_batches import CODECS, RawRecord, encode
from mm2.demo.raw_cluster import RawCluster
from mm2.demo.record_comparison import Verification
from tests.harness.demo_process import demo_run
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.layout import jars
from tests.support.records import create_topic
from tests.support.wheel import build_wheel, install_wheel

pytestmark = pytest.mark.broker

NOW_MS = 1_700_000_000_000
COMMAND = [sys.executable, "-m", "mm2.cli.mm2", "demo", "--free-ports"]


@pytest.mark.spark
@pytest.mark.thorough
@pytest.mark.timeout(400)
def test_a_demo_of_the_installed_wheel_proves_its_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = install_wheel(build_wheel(tmp_path), tmp_path / "installed")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    kafka = jars()[0].parents[1]
    words = ["--free-ports", "--once", "--seconds", "1", "--kafka-home", str(kafka)]
    command = [str(programs / "mm2"), "demo", *words]
    # Python's -m would find a checkout that it is started in.
    with demo_run(tmp_path, command, cwd=tmp_path) as run:
        assert run.wait(300) == 0, run.text()
        assert run.left() == []


@pytest.mark.spark
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_demo_that_is_told_to_stop_while_it_starts_leaves_no_process_behind(
    tmp_path: Path, number: signal.Signals
) -> None:
    with demo_run(tmp_path, COMMAND) as run:
        eventually(lambda: "Running connect-mirror-maker" in run.text())
        time.sleep(0.5 if number is signal.SIGTERM else 0)
        run.process.send_signal(number)
        assert run.wait(2 * PATIENCE_S) == 0, run.text()
        assert "Everything is stopped." in run.text()
        assert run.left() == []


def test_the_demo_shows_the_end_of_the_log_of_a_mirror_that_does_not_start(tmp_path: Path) -> None:
    broken = tmp_path / "broken.properties"
    broken.write_text("clusters = A, B\n")
    with demo_run(tmp_path, [*COMMAND, "--once", "--config", str(broken)]) as run:
        assert run.wait(90) == 1
        assert "FAILED: the mirror ended with status" in run.text()
        assert "no B.bootstrap.servers" in run.text()
        assert run.left() == []


async def test_equal_logs_are_found_equal_whatever_their_codec(
    cluster_a: Cluster, cluster_b: Cluster, topic_name: str
) -> None:
    batches = {n: encode(shapes(NOW_MS, codec), codec) for n, codec in enumerate(CODECS)}
    verification, missing = await _compared(cluster_a, cluster_b, topic_name, batches, batches)
    assert (verification.differences, verification.equal, missing) == ([], 30, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("key", b"other"),
        ("value", None),
        ("headers", ((b"h", b""),)),
        ("headers", ((b"a", b"1"), (b"h", None))),
        ("timestamp_ms", NOW_MS + 1),
    ],
)
async def test_a_record_that_differs_is_found(
    cluster_a: Cluster, cluster_b: Cluster, topic_name: str, name: str, value: object
) -> None:
    headers = ((b"h", None), (b"a", b"1"))
    record = RawRecord(key=b"", value=b"", headers=headers, timestamp_ms=NOW_MS)
    other = dataclasses.replace(record, **{name: value})  # type: ignore[arg-type]
    written, copied = {0: encode([record], "none")}, {0: encode([other], "none")}
    verification, _ = await _compared(cluster_a, cluster_b, topic_name, written, copied)
    assert len(verification.differences) == 1
    assert name in verification.differences[0]


async def test_another_codec_is_found(
    cluster_a: Cluster, cluster_b: Cluster, topic_name: str
) -> None:
    record = RawRecord(value=b"v" * 100, timestamp_ms=NOW_MS)
    written, copied = {0: encode([record], "lz4")}, {0: encode([record], "zstd")}
    verification, _ = await _compared(cluster_a, cluster_b, topic_name, written, copied)
    assert ["'lz4' became 'zstd'" in each for each in verification.differences] == [True]


async def test_records_that_are_missing_or_too_many_are_found(
    cluster_a: Cluster, cluster_b: Cluster, topic_name: str
) -> None:
    one = RawRecord(value=b"1", timestamp_ms=NOW_MS)
    written = {0: encode([one, one], "none"), 1: encode([one], "none")}
    copied = {0: encode([one], "none"), 1: encode([one, one], "none")}
    verification, missing = await _compared(cluster_a, cluster_b, topic_name, written, copied)
    assert missing == 1
    assert ["1 records more" in each for each in verification.differences] == [True]


async def _compared(
    cluster_a: Cluster,
    cluster_b: Cluster,
    topic: str,
    written: dict[int, bytes],
    copied: dict[int, bytes],
) -> tuple[Verification, int]:
    create_topic(cluster_a.bootstrap, topic, len(written))
    create_topic(cluster_b.bootstrap, f"A.{topic}", len(written))
    flow = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
    verification = Verification(flow=flow, topics={topic: len(written)})
    async with (
        RawCluster("A", cluster_a.bootstrap) as source,
        RawCluster("B", cluster_b.bootstrap) as target,
    ):
        await source.write(_at(topic, written))
        await target.write(_at(f"A.{topic}", copied))
        return verification, await verification.proceed(source, target)


def _at(topic: str, batches: dict[int, bytes]) -> dict[TopicPartition, bytes]:
    return {TopicPartition(TopicName(topic), n): batch for n, batch in batches.items()}
