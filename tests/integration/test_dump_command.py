"""``mm2 dump`` shows what internal topics hold."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mm2.cli.mm2 import main
from mm2.core.internal_records import Checkpoint
from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.demo.broker_settings import free_ports
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.records import Sample, create_topic, produce

pytestmark = pytest.mark.broker

MM2 = Path(sys.executable).with_name("mm2")


def _checkpoint(number: int) -> Checkpoint:
    where = TopicPartition(TopicName("A.t"), number)
    return Checkpoint(GroupId("g"), where, 10 * number, 11 * number, "m")


def _line(number: int) -> str:
    return (
        f"Checkpoint{{consumerGroupId=g, topicPartition=A.t-{number}, "
        f"upstreamOffset={10 * number}, downstreamOffset={11 * number}, metadata=m}}"
    )


def _sample(number: int, partition: int = 0) -> Sample:
    each = _checkpoint(number)
    return Sample(key=each.key(), value=each.value(), partition=partition, timestamp_ms=1000)


def _dump(cluster: Cluster, topic: str, *words: str) -> Result:
    command = ["dump", topic, "--bootstrap-server", cluster.bootstrap, *words]
    return CliRunner().invoke(main, command)


@pytest.fixture
def checkpoints(cluster_b: Cluster, unique: str) -> str:
    """Three checkpoints in two partitions."""
    topic = f"{unique[-8:]}.checkpoints.internal"
    create_topic(cluster_b.bootstrap, topic, 2)
    produce(cluster_b.bootstrap, topic, [_sample(1), _sample(2), _sample(3, partition=1)])
    return topic


def test_checkpoints_print_as_with_javas_formatter(cluster_b: Cluster, checkpoints: str) -> None:
    """C325."""
    result = _dump(cluster_b, checkpoints)
    assert (result.exit_code, sorted(result.stdout.splitlines())) == (
        0,
        [_line(1), _line(2), _line(3)],
    )
    result = _dump(cluster_b, checkpoints, "--partition", "0", "--max-messages", "1")
    assert (result.exit_code, result.stdout.splitlines()) == (0, [_line(1)])


def test_rows_say_where_a_record_stands(
    cluster_b: Cluster, checkpoints: str, tmp_path: Path
) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(
        f"clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = {cluster_b.bootstrap}\n"
    )
    words = ["dump", checkpoints, "--config", str(file), "--cluster", "B", "--partition", "1"]
    result = CliRunner().invoke(main, [*words, "--format", "json"])
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == [
        {
            "record": "1:0",
            "written": 1000,
            "group": "g",
            "topic": "A.t",
            "partition": 3,
            "upstream": 30,
            "downstream": 33,
            "exact": False,
            "metadata": "m",
            "error": None,
        }
    ]
    result = CliRunner().invoke(main, [*words, "--format", "tsv"])
    head, row = result.stdout.splitlines()
    assert head.split("\t")[:3] == ["record", "written", "group"]
    assert row.split("\t")[:3] == ["1:0", "1000", "g"]


def test_records_that_cannot_be_read_are_shown_and_counted(
    cluster_b: Cluster, checkpoints: str
) -> None:
    broken = [Sample(key=b"k", value=b"v"), Sample(key=_checkpoint(1).key(), value=None)]
    produce(cluster_b.bootstrap, checkpoints, broken)
    result = _dump(cluster_b, checkpoints, "--partition", "0")
    lines = result.stdout.splitlines()
    assert lines[:2] == [_line(1), _line(2)]
    assert lines[2].startswith("Undecodable{record=0:2, ")
    assert lines[2].endswith("key=6b, value=76}")
    assert lines[3].startswith("Tombstone{record=0:3, ")
    assert (result.exit_code, result.stderr) == (1, "1 records cannot be read.\n")


def test_what_is_not_there_is_told(cluster_b: Cluster, checkpoints: str, unique: str) -> None:
    result = _dump(cluster_b, f"{unique}.heartbeats")
    assert (result.exit_code, f"there is no topic {unique}.heartbeats" in result.stderr) == (
        1,
        True,
    )
    result = _dump(cluster_b, checkpoints, "--partition", "2")
    assert (result.exit_code, "has partitions 0 to 1" in result.stderr) == (2, True)


def test_a_cluster_that_is_away_is_told() -> None:
    server = f"127.0.0.1:{free_ports(1)[0]}"
    result = CliRunner().invoke(main, ["dump", "heartbeats", "--bootstrap-server", server])
    assert result.exit_code == 3
    assert f"cluster {server}: no answer: {server} refuses connections" in result.stderr


def test_following_goes_on_with_new_records_until_interrupted(
    cluster_b: Cluster, checkpoints: str
) -> None:
    command = [str(MM2), "dump", checkpoints, "--bootstrap-server", cluster_b.bootstrap, "--follow"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            first = {process.stdout.readline() for _ in range(3)}
            assert first == {f"{_line(n)}\n" for n in (1, 2, 3)}
            produce(cluster_b.bootstrap, checkpoints, [_sample(4)])
            assert process.stdout.readline() == f"{_line(4)}\n"
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
            assert (process.returncode, errors) == (0, "")
        finally:
            process.kill()


def test_what_a_broker_has_on_disk_is_right_and_decoded_by_the_name_of_its_folder(
    unique: str,
) -> None:
    topic = f"{unique[-8:]}.checkpoints.internal"
    with KafkaCluster("dumped") as cluster:
        create_topic(cluster.bootstrap, topic, 2)
        produce(cluster.bootstrap, topic, [_sample(1), _sample(2)], codec="none")
        produce(cluster.bootstrap, topic, [_sample(3), _sample(4, partition=1)], codec="zstd")
        cluster.stop_node()
        shown = []
        for partition in range(2):
            (segment,) = cluster.log_folder(topic, partition).glob("*.log")
            indexes = [segment.with_suffix(each) for each in (".index", ".timeindex")]
            assert indexes[1].stat().st_size
            files = map(str, (segment, *indexes))
            words = ["dump-log", *files, "--deep-iteration", "--format", "json"]
            result = CliRunner().invoke(main, words)
            assert result.exit_code == 0, result.stderr
            rows = json.loads(result.stdout)
            shown += [(each["record"], each["topic"], each["upstream"]) for each in rows]
    assert shown == [
        *[(f"0:{offset}", "A.t", 10 * number) for offset, number in enumerate((1, 2, 3))],
        ("1:0", "A.t", 40),
    ]
