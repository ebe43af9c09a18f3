"""``mm2 offset-manager load-test`` against an offset manager and beside Kafka's coordinators."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.offset_manager import served, until_all_serve
from tests.support.records import commit_group, create_topic

pytestmark = pytest.mark.broker


@pytest.mark.parametrize("more", [[], ["--consumers"]])
def test_a_load_test_finds_nothing_wrong_and_compares_with_kafka(
    cluster_a: Cluster, unique: str, more: list[str]
) -> None:
    create_topic(cluster_a.bootstrap, unique, 3)
    # The first group of all has the cluster create its topic of offsets.
    commit_group(cluster_a.bootstrap, unique, {(unique, 0): 1})
    settings = {
        "offsets.topic.name": f"{unique}-offsets",
        "offsets.topic.num.partitions": "4",
        "offsets.topic.replication.factor": "1",
    }
    with served(cluster_a.bootstrap, settings, 2) as instances:
        until_all_serve(instances)
        eventually(lambda: sum(each.led for each in instances), until=lambda count: count == 4)
        servers = ",".join(each.address for each in instances)
        asked = ["--bootstrap-server", servers, "--topic", unique, "--compare", cluster_a.bootstrap]
        load = ["--groups", "8", "--seconds", "3", "--format", "json"]
        done = CliRunner().invoke(main, ["offset-manager", "load-test", *asked, *load, *more])
    assert done.exit_code == 0, done.output
    rows = {each["calls"]: each for each in json.loads(done.stdout)}
    for calls in ("commits", "fetches", "Kafka: commits", "Kafka: fetches"):
        assert rows[calls]["answered"] > 0
    assert "throughput" in rows["commits: ours / Kafka's"]["errors"]


def test_a_topic_that_is_not_there_is_named(cluster_a: Cluster, unique: str) -> None:
    asked = ["--bootstrap-server", cluster_a.bootstrap, "--topic", unique]
    done = CliRunner().invoke(main, ["offset-manager", "load-test", *asked])
    assert done.exit_code == 3
    assert unique in done.stderr
