"""What an offset manager and its groups show to people who run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from confluent_kafka import TopicPartition

from mm2.cli.mm2 import main
from mm2.client.zookeeper_groups import zookeeper_client
from mm2.config.legacy.zookeeper_keys import zookeeper_tls
from mm2.demo.broker_settings import settings_text
from tests.support.certificates import Certified
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.offset_manager import commit, commit_errors, committed, consumer, served
from tests.support.records import commit_group, create_topic, numbered, produce
from tests.support.zookeeper import client_of, secured_zookeeper, tls_stores, zookeeper

pytestmark = pytest.mark.broker


def test_groups_are_shown_wherever_their_offsets_are_kept(cluster_a: Cluster, unique: str) -> None:
    create_topic(cluster_a.bootstrap, unique, 2)
    produce(cluster_a.bootstrap, unique, numbered(0, 10, 2))
    commit_group(cluster_a.bootstrap, unique, {(unique, 0): 1})
    settings = {
        "offsets.topic.name": f"{unique}-offsets",
        "offsets.topic.num.partitions": "4",
        "offsets.topic.replication.factor": "1",
    }
    with (
        served(cluster_a.bootstrap, settings) as (instance,),
        consumer([instance], unique) as client,
    ):
        commit(client, TopicPartition(unique, 0, 3), TopicPartition(unique, 1, 5))
        asked = ["--bootstrap-server", cluster_a.bootstrap, "--offset-manager", instance.address]
        words = ["offset-manager", "check", *asked, "--group", unique, "--format", "json"]
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
        found = [
            (row["kept_in"], row["pid"], row["offset"], row["logsize"], row["lag"], row["owner"])
            for row in json.loads(done.stdout)
        ]
        assert found == [
            ("kafka", 0, 1, 5, 4, "none"),
            ("manager", 0, 3, 5, 2, "none"),
            ("manager", 1, 5, 5, 0, "none"),
        ]


def test_groups_of_older_consumers_are_shown_with_their_owners(
    cluster_a: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 3)
    produce(cluster_a.bootstrap, unique, numbered(0, 10, 2))
    home = f"/consumers/{unique}"
    with zookeeper(tmp_path) as address, client_of(address) as client:
        client.create(f"{home}/offsets/{unique}/0", b"2", makepath=True)
        client.create(f"{home}/offsets/{unique}/1", b"5")
        client.create(f"{home}/offsets/gone/0", b"7", makepath=True)
        client.create(f"{home}/offsets/{unique}/2", b"nothing")
        client.create(f"{home}/owners/{unique}/1", b"consumer-1-0", makepath=True)
        client.create(f"{home}/owners/{unique}/2", b"consumer-2-0")
        asked = ["--bootstrap-server", cluster_a.bootstrap, "--zookeeper", address]
        groups = ["--group", unique, "--group", f"{unique}-2"]
        words = ["offset-manager", "check", *asked, *groups, "--format", "json"]
        done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert [
        (row["kept_in"], row["topic"], row["pid"], row["offset"], row["lag"], row["owner"])
        for row in json.loads(done.stdout)
    ] == [
        ("zookeeper", "gone", 0, 7, None, "none"),
        ("zookeeper", unique, 0, 2, 3, "none"),
        ("zookeeper", unique, 1, 5, 0, "consumer-1-0"),
        ("zookeeper", unique, 2, None, None, "consumer-2-0"),
    ]
    refused = CliRunner().invoke(main, ["offset-manager", "check", *asked, *groups])
    assert refused.exit_code == 3
    assert address in refused.stderr


def test_zookeeper_is_asked_by_tls_with_the_file_that_kafkas_tools_have(
    cluster_a: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 1)
    stores, keys = tls_stores(tmp_path)
    stranger = Certified.authority("another").truststore(tmp_path / "other.p12")
    ours, other = tmp_path / "zk.properties", tmp_path / "other.properties"
    ours.write_text(settings_text(keys))
    other.write_text(settings_text({**keys, "zookeeper.ssl.truststore.location": str(stranger)}))
    home = f"/consumers/{unique}"
    reads = b'{"version":1,"subscription":{"%s":1},"pattern":"static"}' % unique.encode()
    with secured_zookeeper(tmp_path, stores) as address:
        tls = zookeeper_tls(keys)
        there = ["--zookeeper", address, "--group", unique, "--zk-tls-config-file"]
        check = ["offset-manager", "check", "--bootstrap-server", cluster_a.bootstrap, *there]
        rebalance = ["verify", "rebalance", *there]
        with zookeeper_client(address, tls) as client:
            topic = b'{"version":1,"partitions":{"0":[1]}}'
            client.create(f"/brokers/topics/{unique}", topic, makepath=True)
            client.create(f"{home}/offsets/{unique}/0", b"2", makepath=True)
            client.create(f"{home}/owners/{unique}/0", b"one-0", makepath=True)
            client.create(f"{home}/ids/one", reads, makepath=True)
        done = CliRunner().invoke(main, [*check, str(ours), "--format", "json"])
        assert done.exit_code == 0, done.output
        (row,) = json.loads(done.stdout)
        assert (row["kept_in"], row["offset"], row["owner"]) == ("zookeeper", 2, "one-0")
        done = CliRunner().invoke(main, [*rebalance, str(ours), "--format", "json"])
        assert done.exit_code == 0, done.output
        for words in (check, rebalance):
            refused = CliRunner().invoke(main, [*words, str(other)])
            assert refused.exit_code == 3
            assert "certificate verify failed" in refused.stderr


def test_commits_fetches_and_what_is_in_memory_are_counted(cluster_a: Cluster, unique: str) -> None:
    create_topic(cluster_a.bootstrap, unique, 2)
    settings = {
        "offsets.topic.name": f"{unique}-offsets",
        "offsets.topic.num.partitions": "4",
        "offsets.topic.replication.factor": "1",
        "offset.metadata.max.bytes": "1",
    }
    with (
        served(cluster_a.bootstrap, settings) as (instance,),
        consumer([instance], unique) as client,
    ):
        commit(client, TopicPartition(unique, 0, 3), TopicPartition(unique, 1, 5))
        assert commit_errors(client, TopicPartition(unique, 0, 4, "long")) == [12]
        assert committed(client, unique, 2) == [3, 5]
        # The group's log partition is led; the others may come a little later.
        eventually(lambda: instance.led, until=lambda count: count == 4)
        shown = instance.metrics
    ours = "mm2_offset_manager"
    assert shown[f"{ours}_kafka_commits_totalNONE"] == 1
    assert shown[f"{ours}_kafka_commits_totalOFFSET_METADATA_TOO_LARGE"] == 1
    assert shown[f"{ours}_fetches_totalNONE"] >= 1
    assert shown[f"{ours}_commit_seconds_count"] == 1
    assert shown[f"{ours}_load_seconds_count"] >= 1
    assert (shown[f"{ours}_cached_offsets"], shown[f"{ours}_led_partitions"]) == (2, 4)


def test_commits_are_shown_from_the_topics_of_a_live_cluster(
    cluster_a: Cluster, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, unique, 2)
    produce(cluster_a.bootstrap, unique, numbered(0, 10, 2))
    commit_group(cluster_a.bootstrap, unique, {(unique, 0): 1})
    topic = f"{unique}-offsets"
    settings = {
        "offsets.topic.name": topic,
        "offsets.topic.num.partitions": "4",
        "offsets.topic.replication.factor": "1",
    }

    def dumped(*words: str) -> list[tuple[str, int, int]]:
        asked = ["--bootstrap-server", cluster_a.bootstrap, "--format", "json"]
        done = CliRunner().invoke(main, ["dump", *words, *asked])
        assert done.exit_code == 0, done.output
        return [
            (row["topic"], row["partition"], row["offset"])
            for row in json.loads(done.stdout)
            if (row["kind"], row["group"]) == ("offset", unique)
        ]

    with (
        served(cluster_a.bootstrap, settings) as (instance,),
        consumer([instance], unique) as client,
    ):
        commit(client, TopicPartition(unique, 0, 3), TopicPartition(unique, 1, 5))
        assert dumped(topic, "--kind", "offset-manager") == [(unique, 0, 3), (unique, 1, 5)]
    assert dumped("__consumer_offsets") == [(unique, 0, 1)]
