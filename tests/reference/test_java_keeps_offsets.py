"""Java's consumer reads records and keeps its offsets through an offset manager alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reference.java_snippets import Snippet
from tests.support.cluster import Cluster
from tests.support.offset_manager import committed, consumer, served
from tests.support.records import create_topic, numbered, produce

pytestmark = [pytest.mark.broker, pytest.mark.reference]


def test_javas_consumer_reads_commits_and_goes_on_where_it_was(
    cluster_a: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 3)
    produce(cluster_a.bootstrap, unique, numbered(0, 30, 3))
    settings = {
        "offsets.topic.name": f"{unique}-offsets",
        "offsets.topic.num.partitions": "4",
        "offsets.topic.replication.factor": "1",
    }
    keeps_offsets = Snippet("KeepsOffsets", tmp_path)
    with served(cluster_a.bootstrap, settings, 2) as instances:
        servers = ",".join(each.address for each in instances)
        first = keeps_offsets(servers, unique, unique, "12")
        rest = keeps_offsets(servers, unique, unique, "18")
        assert sorted(map(int, first + rest)) == list(range(30))
        with consumer(instances, unique) as client:
            assert committed(client, unique, 3) == [10, 10, 10]
