"""``kafka-mirror-maker`` takes over from the tool of Kafka's last release that had it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, KafkaCluster
from tests.support.layout import OLDER_VERSION
from tests.support.legacy_tool import all_copies, copies_when, legacy_tool, tool_files
from tests.support.mirror import Mirror
from tests.support.process import java_command
from tests.support.records import Sample, create_topic, everything, produce

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.reference]


def javas_tool(
    folder: Path, source: Cluster, target: Cluster, group: str, *arguments: str
) -> Mirror:
    """Java's tool with the same files; it runs against today's brokers."""
    text, files = tool_files(folder, source, target, group)
    main = "kafka.tools.MirrorMaker"
    return Mirror(
        folder,
        text,
        command=lambda file: java_command(
            main, *files(file), *arguments, options=["-Xmx256m"], version=OLDER_VERSION
        ),
    )


def test_keys_keep_their_partition_and_order_when_ours_takes_over(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    topic, group = f"{unique}-t", f"{unique}-g"
    create_topic(cluster_a.bootstrap, topic)
    create_topic(cluster_b.bootstrap, topic, partitions=5)
    samples = [Sample(key=b"key-%d" % (n % 30), value=b"%d" % n) for n in range(600)]
    include = ("--include", topic)
    produce(cluster_a.bootstrap, topic, samples[:300])
    with javas_tool(tmp_path, cluster_a, cluster_b, group, *include) as javas:
        copies_when(cluster_b, topic, 300)
        javas.stop()
    produce(cluster_a.bootstrap, topic, samples[300:])
    with legacy_tool(tmp_path, cluster_a, cluster_b, group, *include, "--repartition") as ours:
        copies = copies_when(cluster_b, topic, 600)
        assert ours.stop() == 0
    for key in {sample.key for sample in samples}:
        of_key = [copy for copy in copies if copy.key == key]
        assert len({copy.partition for copy in of_key}) == 1
        wanted = [sample.value for sample in samples if sample.key == key]
        assert [copy.value for copy in of_key] == wanted
    # Java's tool has committed when it stopped: nothing has come twice.
    assert len(copies_when(cluster_b, topic, 600)) == len(samples)
    assert len(everything(cluster_b.bootstrap, topic)) == sum(c.partition == 0 for c in copies)


def _every_kind(count: int) -> list[Sample]:
    """Records with and without keys, values, headers and times of their own."""
    return [
        Sample(
            key=None if n % 7 == 0 else b"key-%d" % (n % 30),
            value=None if n % 11 == 0 and n % 7 else b"%d" % n,
            headers=(("h", b"%d" % n), ("h", None)) if n % 3 else (),
            partition=n % 3,  # of a key always the same
            timestamp_ms=1_700_000_000_000 + n,
        )
        for n in range(count)
    ]


def test_both_tools_copy_the_same_records_in_the_same_order_of_each_key(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    topic, partitions, folders = f"{unique}-t", 5, [tmp_path / "java", tmp_path / "ours"]
    with KafkaCluster("C") as cluster_c:
        for cluster, count in ((cluster_a, 3), (cluster_b, partitions), (cluster_c, partitions)):
            create_topic(cluster.bootstrap, topic, partitions=count)
        samples = _every_kind(900)
        for codec, first in (("none", 0), ("gzip", 300), ("zstd", 600)):
            produce(cluster_a.bootstrap, topic, samples[first : first + 300], codec=codec)
        for folder in folders:
            folder.mkdir()
        groups, include = [f"{unique}-java", f"{unique}-ours"], ("--include", topic)
        with (
            javas_tool(folders[0], cluster_a, cluster_b, groups[0], *include) as javas,
            legacy_tool(
                folders[1], cluster_a, cluster_c, groups[1], *include, "--repartition"
            ) as ours,
        ):
            for cluster in (cluster_b, cluster_c):
                copies_when(cluster, topic, len(samples))
            javas.stop()
            assert ours.stop() == 0
        theirs, own = (all_copies(each, topic, partitions) for each in (cluster_b, cluster_c))
    assert len(own) == len(samples)
    for key in {sample.key for sample in samples if sample.key is not None}:
        wanted = [sample.content for sample in theirs if sample.key == key]
        assert [sample.content for sample in own if sample.key == key] == wanted
        assert len({sample.partition for sample in own if sample.key == key}) == 1
    assert _without_keys(own) == _without_keys(theirs)


def _without_keys(samples: list[Sample]) -> Counter[tuple[object, ...]]:
    """What records without a key are, wherever they are."""
    return Counter(
        (each.value, each.headers, each.timestamp_ms) for each in samples if not each.key
    )
