"""``mm2 verify``: copies that are right, and five ways in which they can be wrong."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Producer

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, properties
from tests.support.records import (
    CODECS,
    DEADLINE_S,
    Sample,
    committed,
    create_topic,
    produce,
    produce_transaction,
    send,
)
from tests.support.topics import delete_before

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(300)]

_MM2 = Path(sys.executable).with_name("mm2")
_SIZE = 200
_AT = 120
_SECRET = "v3ry-s3cret-content"
_CLEANED_SOON = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.001",
    "max.compaction.lag.ms": "100",
}
_EXPIRING = {"cleanup.policy": "compact,delete", "retention.ms": "-1"}
_CONFIGS = {"compacted": _CLEANED_SOON, "expiring": {**_CLEANED_SOON, **_EXPIRING}}


def _verify(file: Path, *words: str, status: int, format_: str = "json") -> dict[str, Any]:
    done = subprocess.run(
        [str(_MM2), "verify", str(file), *words, "--format", format_],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert _SECRET not in done.stdout + done.stderr
    found: dict[str, Any] = yaml.safe_load(done.stdout)  # JSON is YAML
    return found


def _samples(count: int, first: int = 0) -> list[Sample]:
    return [
        Sample(
            key=f"k{n}".encode(),
            value=f"{_SECRET} {n}".encode(),
            headers=(("n", str(n).encode()), ("empty", None)),
            timestamp_ms=1_700_000_000_000 + n,
        )
        for n in range(first, first + count)
    ]


def _lost(copy: list[Sample]) -> None:
    del copy[_AT]


def _duplicated(copy: list[Sample]) -> None:
    copy.insert(_AT + 1, copy[_AT])


def _reordered(copy: list[Sample]) -> None:
    copy[_AT], copy[_AT + 1] = copy[_AT + 1], copy[_AT]


def _altered(copy: list[Sample]) -> None:
    copy[_AT] = replace(copy[_AT], value=b"another")


def _header(copy: list[Sample]) -> None:
    copy[_AT] = replace(copy[_AT], headers=(("n", b"another"), ("empty", None)))


def _nothing(_: list[Sample]) -> None:
    pass


_PLANTED: dict[str, tuple[Callable[[list[Sample]], None], dict[str, object]]] = {
    "lost": (_lost, {"kind": "lost", "source_offset": _AT}),
    "duplicated": (_duplicated, {"kind": "duplicated", "remote_offset": _AT + 1}),
    "reordered": (_reordered, {"kind": "reordered"}),
    "altered": (_altered, {"kind": "altered", "source_offset": _AT, "fields": "value"}),
    "expiring": (_lost, {"kind": "lost", "source_offset": _AT}),
    "header": (_header, {"kind": "altered", "source_offset": _AT, "fields": "headers"}),
    "clean": (_nothing, {}),
}


def test_each_of_five_planted_differences_is_found_and_nothing_else(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    alias = f"S{unique[-8:]}"
    file = _file(cluster_a, cluster_b, alias, unique, tmp_path)
    for name, (plant, _) in _PLANTED.items():
        copy = _samples(_SIZE)
        plant(copy)
        configs = _EXPIRING if name == "expiring" else {}
        create_topic(cluster_a.bootstrap, f"{unique}-{name}", configs=configs)
        create_topic(cluster_b.bootstrap, f"{alias}.{unique}-{name}", configs=configs)
        produce(cluster_a.bootstrap, f"{unique}-{name}", _samples(_SIZE))
        produce(cluster_b.bootstrap, f"{alias}.{unique}-{name}", copy, codec="lz4")
    found = _verify(file, status=1)
    for name, (_, expected) in _PLANTED.items():
        seen = [each for each in found["differences"] if each["topic"] == f"{unique}-{name}"]
        assert len(seen) == bool(expected), name
        assert all(seen[0][key] == value for key, value in expected.items()), name
    only_good = _verify(file, "--topics", f"{unique}-clean", status=0)
    assert [row["equal"] for row in only_good["topics"]] == [_SIZE]
    sample = _verify(file, "--sample", "--seed", "7", status=1, format_="yaml")
    assert (sample["mode"], sample["seed"]) == ("sample", 7)


def test_a_source_topic_without_a_copy_is_a_difference(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    file = _file(cluster_a, cluster_b, f"S{unique[-8:]}", unique, tmp_path)
    create_topic(cluster_a.bootstrap, unique)
    produce(cluster_a.bootstrap, unique, _samples(1))
    (row,) = _verify(file, status=1)["partitions"]
    assert row["without_copy"] == 1


def test_records_in_a_partition_that_the_source_does_not_have_are_added(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    alias = f"S{unique[-8:]}"
    file, remote = _file(cluster_a, cluster_b, alias, unique, tmp_path), f"{alias}.{unique}"
    create_topic(cluster_a.bootstrap, unique)
    create_topic(cluster_b.bootstrap, remote, partitions=3)
    assert _verify(file, status=0)["differences"] == []
    produce(cluster_b.bootstrap, remote, [replace(each, partition=2) for each in _samples(2)])
    for words in ((), ("--sample",)):
        found = _verify(file, *words, status=1)
        seen = [(each["partition"], each["kind"]) for each in found["differences"]]
        assert seen == [(2, "added")] * 2


def test_a_cluster_that_does_not_answer_has_status_3(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(properties({"A": "127.0.0.1:1", "B": "127.0.0.1:1"}, {"A->B.enabled": "true"}))
    done = subprocess.run(
        [str(_MM2), "verify", str(file)], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 3, done.stderr


@pytest.mark.parametrize("exactly_once", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_a_running_mirrors_copies_do_not_differ(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path, *, exactly_once: bool
) -> None:
    alias = f"S{unique[-8:]}"
    settings = {
        "T.exactly.once.source.support": "enabled",
        f"{alias}.consumer.isolation.level": "read_committed",
    }
    file = _file(
        cluster_a, cluster_b, alias, unique, tmp_path, settings=settings if exactly_once else {}
    )
    topics = [f"{unique}-{name}" for name in ("plain", "cut", "compacted", "expiring")]
    for topic in topics:
        create_topic(cluster_a.bootstrap, topic, configs=_CONFIGS.get(topic.split("-")[-1]))
        for number, codec in enumerate(CODECS):
            produce(cluster_a.bootstrap, topic, _samples(100, 100 * (number % 3)), codec=codec)
    for commit in (True, False):
        produce_transaction(cluster_a.bootstrap, topics[0], _samples(50, 5000), commit=commit)
    with Mirror(tmp_path, file.read_text()) as mirror:
        for topic in topics[:2]:
            remote = f"{alias}.{topic}"
            eventually(partial(_copied, cluster_b, remote), until=lambda count: count >= 500)
        remote = f"{alias}.{topics[3]}"
        eventually(partial(_copied, cluster_b, remote), until=lambda count: count >= 300)
        for topic in (topics[1], topics[3]):
            delete_before(cluster_a, topic, 130)
            delete_before(cluster_b, f"{alias}.{topic}", 270)
        traffic = (_traffic(cluster_a, topic) for topic in (topics[0], *topics[2:]))
        with ExitStack() as stack:
            for each in traffic:
                stack.enter_context(each)
            found = _verify(file, status=0)
            counts = {row["topic"]: row for row in found["topics"]}
            assert set(counts) == set(topics)
            assert counts[topics[0]]["equal"] >= 550
            assert 0 < counts[topics[1]]["equal"] <= 370
            assert counts[topics[2]]["equal"] + counts[topics[2]]["behind"] >= 300
            assert counts[topics[3]]["equal"] > 0
            _verify(file, "--sample", status=0)
        mirror.stop()
    produce(cluster_b.bootstrap, f"{alias}.{topics[0]}", [Sample(value=b"of somebody else")])
    added = _verify(file, "--topics", topics[0], status=1)
    assert [each["kind"] for each in added["differences"]] == ["added"]


def _file(
    source: Cluster,
    target: Cluster,
    alias: str,
    topics: str,
    folder: Path,
    *,
    settings: dict[str, str] | None = None,
) -> Path:
    file = folder / "mm2.properties"
    flow = {
        f"{alias}->T.enabled": "true",
        f"{alias}->T.topics": f"{topics}.*",
        f"T->{alias}.emit.heartbeats.enabled": "false",
        "heartbeats.replication.enabled": "false",
        "sync.topic.configs.enabled": "false",
        "spark.master": "local[2]",
    }
    clusters = {alias: source.bootstrap, "T": target.bootstrap}
    file.write_text(properties(clusters, {**flow, **(settings or {})}))
    return file


def _copied(cluster: Cluster, topic: str) -> int:
    return len(committed(cluster.bootstrap, topic))


@contextmanager
def _traffic(cluster: Cluster, topic: str) -> Iterator[None]:
    """Somebody produces meanwhile."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    stop = threading.Event()
    failures: list[list[object]] = []

    def write() -> None:
        first = 10_000
        while not stop.wait(0.05):
            failures.append(send(producer, topic, _samples(20, first)))
            first += 20

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        assert producer.flush(DEADLINE_S) == 0
        assert not any(failures)
