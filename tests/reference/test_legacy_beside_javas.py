"""``kafka-mirror-maker`` takes over from the tool of Kafka's last release that had it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.layout import OLDER_VERSION
from tests.support.legacy_tool import copies_when, legacy_tool, tool_files
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
