"""Records that Spark's SQL changes, between real clusters: what arrives, and where it goes on."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from mm2.client.load_translation import read_translation
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, one_way
from tests.support.random_logs import author_of_changed_logs, check_translation
from tests.support.records import (
    Sample,
    committed,
    consume,
    create_topic,
    ends,
    everything,
    heartbeat,
    produce,
)

pytestmark = [pytest.mark.broker, pytest.mark.spark]

_TEXT: Final = "CAST(value AS STRING)"
_NUMBER: Final = f"CAST(get_json_object({_TEXT}, '$.n') AS INT)"
_SQL: Final = {
    "A->B.transforms.sql.where": f"get_json_object({_TEXT}, '$.type') != 'test'",
    "A->B.transforms.sql.value": f"concat('n', get_json_object({_TEXT}, '$.n'))",
}


def _samples(first: int, count: int) -> list[Sample]:
    kinds = ("test", "a", "b")
    return [
        Sample(value=b'{"type": "%s", "n": %d}' % (kinds[number % 3].encode(), number))
        for number in range(first, first + count)
    ]


def _values(total: int) -> Iterator[bytes]:
    return (b"n%d" % number for number in range(total) if number % 3)


@pytest.mark.also_on_spark_cluster
@pytest.mark.timeout(600)
@pytest.mark.parametrize("exactly_once", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_a_driver_that_is_killed_loses_nothing_and_repeats_nothing(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path, *, exactly_once: bool
) -> None:
    """
    It is killed while records are written and copied, and another one goes on.

    Every second record goes to another topic. At least once, copies may come twice there.
    """
    topic, rng = f"{unique}-t", random.Random(unique)
    remote, other = f"A.{topic}", f"A.{topic}.more"
    create_topic(cluster_a.bootstrap, topic)
    changed = f"{unique}-t"
    settings = {
        **_SQL,
        "A->B.transforms.sql.topics": changed,
        "A->B.transforms.sql.topic": f"if({_NUMBER} % 2 = 0, topic, concat(topic, '.more'))",
        "B.exactly.once.source.support": "enabled" if exactly_once else "disabled",
    }
    text = one_way(cluster_a, cluster_b, changed, settings)
    total = 0

    def write(count: int) -> int:
        produce(cluster_a.bootstrap, topic, _samples(total, count), codec="lz4")
        return total + count

    def end() -> int:
        return ends(cluster_b.bootstrap, [remote])[0]

    total = write(50)
    with Mirror(tmp_path, text) as mirror:
        eventually(end, until=(5).__le__, timeout=120)
        for _ in range(rng.randint(10, 20)):
            total = write(rng.randint(50, 300))
        aim = total // 3 - rng.randint(0, 1_000)
        eventually(end, until=aim.__le__, timeout=120)
        mirror.kill()
        mirror.wait_gone()
    wanted = list(_values(total := write(100)))
    own = [value for value in wanted if int(value[1:]) % 2 == 0]
    rest = [value for value in wanted if int(value[1:]) % 2]
    with Mirror(tmp_path, text) as mirror:
        eventually(
            lambda: committed(cluster_b.bootstrap, remote),
            until=lambda found: bool(found) and found[-1].value == own[-1],
            timeout=120,
        )
        eventually(
            lambda: {each.value for each in committed(cluster_b.bootstrap, other)},
            until=lambda found: found == set(rest),
            timeout=120,
        )
        assert mirror.stop() == 0
    assert [each.value for each in committed(cluster_b.bootstrap, remote)] == own
    there = [each.value for each in committed(cluster_b.bootstrap, other)]
    assert (there if exactly_once else list(dict.fromkeys(there))) == rest


@pytest.mark.parametrize("exactly_once", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_each_column_of_a_copy_is_what_its_expression_makes(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path, *, exactly_once: bool
) -> None:
    """Partitions change places, one of them goes to another topic, and heartbeats stay."""
    topic, beats, time_ms = f"{unique}-t", f"{unique}-heartbeats", 1_700_000_000_123
    create_topic(cluster_a.bootstrap, topic, 2)
    columns = {
        "where": "offset != 1",
        "key": "concat(CAST(key AS STRING), '!')",
        "value": f"concat({_TEXT}, '@', CAST(offset AS STRING))",
        "headers": "filter(headers, h -> h.key != 'old')",
        "timestamp": "timestamp + INTERVAL 1 HOUR",
        "topic": "if(partition = 0, topic, concat(topic, '.more'))",
        "partition": "1 - partition",
    }
    settings = {f"A->B.transforms.sql.{name}": text for name, text in columns.items()}
    settings["B.exactly.once.source.support"] = "enabled" if exactly_once else "disabled"
    headers = (("old", b"o"), ("h", b"\xff"), ("none", None))
    samples = [
        Sample(
            key=key, value=b"v", headers=headers, partition=partition, timestamp_ms=time_ms + offset
        )
        for partition in (0, 1)
        for offset, key in enumerate([b"k", b"left out", None])
    ]
    produce(cluster_a.bootstrap, topic, samples)
    create_topic(cluster_a.bootstrap, beats)
    produce(cluster_a.bootstrap, beats, [heartbeat(), heartbeat(6)])
    text = one_way(cluster_a, cluster_b, f"{topic}, {beats}", settings)
    with Mirror(tmp_path, text) as mirror:
        own = consume(cluster_b.bootstrap, f"A.{topic}", 2, timeout=120)
        other = consume(cluster_b.bootstrap, f"A.{topic}.more", 2, timeout=120)
        copied_beats = consume(cluster_b.bootstrap, f"A.{beats}", 2)
        assert mirror.stop() == 0
    assert [each.content for each in copied_beats] == [heartbeat().content, heartbeat(6).content]
    for copies, partition in ((own, 1), (other, 0)):
        assert [each.content for each in copies] == [
            (key, value, headers[1:], partition, time_ms + 3_600_000 + offset)
            for offset, key, value in ((0, b"k!", b"v@0"), (2, None, b"v@2"))
        ]


def test_what_spark_fails_for_is_a_dead_letter_and_topics_that_are_not_named_stay(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    changed, plain, letters = f"{unique}-t", f"{unique}-plain", f"{unique}-letters"
    settings = {
        "A->B.transforms.sql.value": f"CAST(100 DIV CAST({_TEXT} AS INT) AS STRING)",
        "A->B.transforms.sql.topics": changed,
        "A->B.errors.tolerance": "all",
        "A->B.errors.deadletterqueue.topic.name": letters,
        "A->B.errors.deadletterqueue.topic.replication.factor": "1",
        "A->B.errors.deadletterqueue.context.headers.enable": "true",
    }
    samples = [Sample(value=value) for value in (b"5", b"0", b"x", None, b"20")]
    for topic in (changed, plain):
        create_topic(cluster_a.bootstrap, topic)
        produce(cluster_a.bootstrap, topic, samples)
    text = one_way(cluster_a, cluster_b, f"{changed}, {plain}", settings)
    with Mirror(tmp_path, text) as mirror:
        copies = consume(cluster_b.bootstrap, f"A.{changed}", 3, timeout=120)
        plain_copies = consume(cluster_b.bootstrap, f"A.{plain}", 5)
        refused = consume(cluster_b.bootstrap, letters, 2)
        assert mirror.stop() == 0
    assert [each.value for each in copies] == [b"20", None, b"5"]
    assert [each.value for each in plain_copies] == [each.value for each in samples]
    assert [each.value for each in refused] == [b"0", b"x"]
    reasons = [dict(each.headers)["__connect.errors.exception.message"] for each in refused]
    number = f"CAST({_TEXT} AS INT)"
    for reason, told, operand in zip(
        reasons, (f"100 DIV {number}", number), (number, _TEXT), strict=True
    ):
        text = (reason or b"").decode()
        assert f"transforms.sql.value: {told} fails; operands: {operand}" in text
        assert " where " not in text


def test_a_wrong_expression_fails_its_flow_at_the_start(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    topic = f"{unique}-t"
    create_topic(cluster_a.bootstrap, topic)
    produce(cluster_a.bootstrap, topic, _samples(0, 1))
    text = one_way(cluster_a, cluster_b, topic, {"A->B.transforms.sql.where": "value LIK 'a'"})
    with Mirror(tmp_path, text) as mirror:
        eventually(lambda: "transforms.sql.where = value LIK 'a': " in mirror.text(), timeout=120)
        assert "line 1, pos 10" in mirror.text()
        assert "Correct the expression, or remove the key" in mirror.text()
        assert mirror.stop() == 0


@pytest.mark.also_on_spark_cluster
@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_what_sql_leaves_of_random_logs_comes_once_over_a_kill_and_translation_skips_nothing(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """Compacted topics, aborted transactions, and a topic that begins far from 0."""
    author = author_of_changed_logs(cluster_a, random.Random(1), unique, 80)
    topics = author.topics
    for topic in topics:
        create_topic(cluster_b.bootstrap, f"A.{topic}")
    settings = {
        "A->B.transforms.sql.where": "unix_millis(timestamp) % 3 != 0",
        "A.consumer.isolation.level": "read_committed",
        "A->B.sync.topic.configs.enabled": "false",
        "B.exactly.once.source.support": "enabled",
    }
    text = one_way(cluster_a, cluster_b, f"{unique}-.*", settings)
    isolation = {"isolation.level": "read_committed"}

    def is_copied(sample: Sample) -> bool:
        return (sample.timestamp_ms or 0) % 3 != 0

    def wanted(topic: str) -> list[Sample]:
        found = everything(cluster_a.bootstrap, topic, settings=isolation)
        return list(filter(is_copied, found))

    def copies(topic: str) -> list[Sample]:
        return everything(cluster_b.bootstrap, f"A.{topic}", settings=isolation)

    def await_all() -> None:
        for topic in topics:
            count = len(wanted(topic))
            eventually(lambda: len(copies(topic)), until=count.__le__, timeout=120)  # noqa: B023

    with Mirror(tmp_path, text) as mirror:
        await_all()
        author.write(40)
        mirror.kill()
        mirror.wait_gone()
    author.write(20)
    author.end_all()
    author.write_last(is_copied)
    with Mirror(tmp_path, text) as mirror:
        await_all()
        assert mirror.stop() == 0
    translation = asyncio.run(
        read_translation(
            "source",
            {"bootstrap.servers": cluster_a.bootstrap},
            syncs_topic="mm2-offset-syncs.B.internal",
            runs_topic="mm2-offset-runs.B.internal",
        )
    )
    for topic in topics:
        made, found = wanted(topic), copies(topic)
        assert [each.content for each in found] == [each.content for each in made]
        check_translation(translation, topic, made, found)
