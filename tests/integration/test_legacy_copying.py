"""``kafka-mirror-maker`` copies topics as a consumer group, and loses nothing."""

from __future__ import annotations

import signal
from itertools import count
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest

from mm2.demo.broker_settings import free_ports
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.legacy_tool import (
    SOON_MISSED,
    all_copies,
    committed_offsets,
    copies_when,
    events_of,
    legacy_tool,
    stream_shares,
)
from tests.support.mirror import Mirror
from tests.support.records import Sample, create_topic, everything, numbered, produce
from tests.support.topics import partition_counts

pytestmark = [pytest.mark.broker, pytest.mark.spark]

_SWITCHED = "streams.levels_changed"


def values(samples: list[Sample]) -> list[bytes | None]:
    return [each.value for each in samples]


def contents(samples: list[Sample]) -> list[tuple[object, ...]]:
    return [each.content for each in samples]


def test_topics_are_copied_as_they_are_and_a_stop_commits(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    topic, group = f"{unique}-t", f"{unique}-g"
    create_topic(cluster_a.bootstrap, topic, partitions=3)
    samples = [
        Sample(
            key=b"k%d" % n,
            value=b"v%d" % n,
            headers=(("h", b"x"),),
            partition=n % 3,
            timestamp_ms=1_700_000_000_000 + n,
        )
        for n in range(90)
    ]
    produce(cluster_a.bootstrap, topic, samples, codec="lz4")
    with legacy_tool(tmp_path, cluster_a, cluster_b, group, "--include", f"{topic},none") as tool:
        copies = copies_when(cluster_b, topic, 90)
        assert contents(copies) == contents(sorted(samples, key=lambda each: each.partition))
        assert partition_counts(cluster_b)[topic] == 3
        assert tool.stop() == 0
        tool.wait_gone()
    assert committed_offsets(cluster_a, group, topic, 3) == [30, 30, 30]

    produce(cluster_a.bootstrap, topic, numbered(90, 10))
    with legacy_tool(tmp_path, cluster_a, cluster_b, group, "--whitelist", topic) as tool:
        assert len(copies_when(cluster_b, topic, 100)) == 100
        assert tool.stop() == 0
    # What was copied before the stop has not come twice.
    assert len(everything(cluster_b.bootstrap, topic)) == 40


@pytest.mark.parametrize(
    "settings",
    [
        SOON_MISSED,
        {**SOON_MISSED, "partition.assignment.strategy": "roundrobin"},
    ],
)
def test_two_processes_share_partitions_and_nothing_is_lost_when_one_is_killed(
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    tmp_path: Path,
    settings: dict[str, str],
) -> None:
    topic, group = f"{unique}-t", f"{unique}-g"
    create_topic(cluster_a.bootstrap, topic, partitions=4)
    produce(cluster_a.bootstrap, topic, numbered(0, 100, 4))
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    arguments = ("--include", topic, "--num.streams", "2", "--offset.commit.interval.ms", "500")
    with (
        legacy_tool(folders[0], cluster_a, cluster_b, group, *arguments, consumer=settings) as one,
        legacy_tool(folders[1], cluster_a, cluster_b, group, *arguments, consumer=settings) as two,
    ):
        # Four streams, of which each has one of the four partitions.
        eventually(lambda: [stream_shares(each) for each in (one, two)] == [{0: 1, 1: 1}] * 2)
        produce(cluster_a.bootstrap, topic, numbered(100, 100, 4))
        copies_when(cluster_b, topic, 200)
        two.kill()
        produce(cluster_a.bootstrap, topic, numbered(200, 100, 4))
        # Records may come twice, as those of the killed process that it had not committed do.
        eventually(
            lambda: {int(each.value or b"") for each in all_copies(cluster_b, topic, 4)},
            until=lambda copied: copied == set(range(300)),
        )
        assert one.stop() == 0


def test_a_signal_has_streams_log_all_events_and_another_what_they_logged_before(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    topic, sent = f"{unique}-t", count()
    create_topic(cluster_a.bootstrap, topic)

    def committed_and_told() -> tuple[bool, list[object]]:
        """Each record that is copied is followed by a commit, which is logged at debug."""
        produce(cluster_a.bootstrap, topic, numbered(next(sent), 1))
        events = events_of(tool)
        switched = [each["logged"] for each in events if each["event"] == _SWITCHED]
        return any(each["event"] == "stream.committed" for each in events), switched

    arguments = ("--include", topic, "--offset.commit.interval.ms", "100")
    with legacy_tool(tmp_path, cluster_a, cluster_b, f"{unique}-g", *arguments) as tool:
        committed_and_told()
        copies_when(cluster_b, topic, 1)
        assert committed_and_told() == (False, [])
        tool.process.send_signal(signal.SIGUSR1)
        eventually(committed_and_told, until=lambda seen: seen == (True, ["all"]))
        tool.process.send_signal(signal.SIGUSR1)
        eventually(committed_and_told, until=lambda seen: seen == (True, ["all", "usual"]))
        assert tool.stop() == 0


def test_a_refused_record_ends_the_tool_and_is_not_committed(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    topic, group = f"{unique}-t", f"{unique}-g"
    create_topic(cluster_a.bootstrap, topic)
    create_topic(cluster_b.bootstrap, topic, configs={"max.message.bytes": "2000"})
    produce(cluster_a.bootstrap, topic, [Sample(value=b"small")] * 5)
    produce(cluster_a.bootstrap, topic, [Sample(value=bytes(5000)), Sample(value=b"behind")])
    with legacy_tool(tmp_path, cluster_a, cluster_b, group, "--include", topic) as tool:
        assert tool.process.wait(PATIENCE_S) != 0
        assert "MESSAGE_TOO_LARGE" in tool.text()
    assert committed_offsets(cluster_a, group, topic) == [5]
    assert values(everything(cluster_b.bootstrap, topic)) == [b"small"] * 5


def test_without_abort_a_refused_record_is_recorded_and_copying_goes_on(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    topic, group, letters = f"{unique}-t", f"{unique}-g", f"{unique}-dead"
    create_topic(cluster_a.bootstrap, topic)
    create_topic(cluster_b.bootstrap, topic, configs={"max.message.bytes": "2000"})
    produce(
        cluster_a.bootstrap,
        topic,
        [Sample(value=b"before"), Sample(value=bytes(5000)), Sample(value=b"behind")],
    )
    (port,) = free_ports(1)
    arguments = ("--include", topic, "--abort.on.send.failure", "false")
    more = ("--dead.letter.topic", letters, "--metrics.listener", f"127.0.0.1:{port}")
    with legacy_tool(tmp_path, cluster_a, cluster_b, group, *arguments, *more) as tool:
        assert values(copies_when(cluster_b, topic, 2)) == [b"before", b"behind"]
        (letter,) = copies_when(cluster_b, letters, 1)
        assert letter.value == bytes(5000)
        labels = f'{{group="{group}",stream="0",topic="{topic}",partition="0"}}'
        wanted = {"copied_records_total": 2, "skipped_records_total": 1, "dead_letters_total": 1}
        shown = {f"mm2_stream_{name}{labels} {value}" for name, value in wanted.items()}
        shown.add(f"mm2_stream_lag_records{labels} 0")
        eventually(lambda: shown <= set(metrics_of(port).splitlines()))
        assert tool.stop() == 0
        (skipped,) = [e for e in events_of(tool) if e["event"] == "source.record_skipped"]
        assert skipped["upstream_offset"] == 1
    assert committed_offsets(cluster_a, group, topic) == [3]


def test_a_topic_that_grows_grows_on_the_target(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    topic, group = f"{unique}-t", f"{unique}-g"
    create_topic(cluster_a.bootstrap, topic)
    produce(cluster_a.bootstrap, topic, numbered(0, 5))
    with legacy_tool(tmp_path, cluster_a, cluster_b, group, "--include", topic) as tool:
        copies_when(cluster_b, topic, 5)
        grow(cluster_a, topic, 3)
        produce(cluster_a.bootstrap, topic, numbered(5, 9, 3))
        assert len(copies_when(cluster_b, topic, 14)) == 14
        assert partition_counts(cluster_b)[topic] == 3
        assert tool.stop() == 0


def test_a_killed_worker_ends_the_tool_and_nothing_is_lost(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    topic, group = f"{unique}-t", f"{unique}-g"
    create_topic(cluster_a.bootstrap, topic, partitions=2)
    produce(cluster_a.bootstrap, topic, numbered(0, 100, 2))
    arguments = ("--include", topic, "--offset.commit.interval.ms", "500")
    with legacy_tool(
        tmp_path, cluster_a, cluster_b, group, *arguments, consumer=SOON_MISSED
    ) as tool:
        copies_when(cluster_b, topic, 100)
        worker_of(tool, cluster_b).kill()
        produce(cluster_a.bootstrap, topic, numbered(100, 100, 2))
        assert tool.process.wait(PATIENCE_S) != 0
        assert any(each["event"] == "stream.lost" for each in events_of(tool))
        tool.wait_gone()
    with legacy_tool(tmp_path, cluster_a, cluster_b, group, *arguments) as tool:
        eventually(
            lambda: {int(each.value or b"") for each in all_copies(cluster_b, topic, 2)},
            until=lambda copied: copied == set(range(200)),
        )
        assert tool.stop() == 0


def worker_of(tool: Mirror, target: Cluster) -> psutil.Process:
    """The process of the stream, which is connected to the target."""
    port = int(target.bootstrap.rpartition(":")[2])
    (found,) = [
        each
        for each in tool.family()
        if any(
            c.status == psutil.CONN_ESTABLISHED and c.raddr.port == port
            for c in each.net_connections("tcp")
        )
    ]
    return found


def metrics_of(port: int) -> str:
    try:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            return str(answer.read().decode())
    except OSError as error:
        raise AssertionError(str(error)) from error


def grow(cluster: Cluster, topic: str, partitions: int) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewPartitions

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(60)
    eventually(lambda: partition_counts(cluster)[topic] == partitions)
