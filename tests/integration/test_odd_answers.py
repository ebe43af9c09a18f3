"""
Handlers and functions that answer as nobody should, between real clusters: nothing is lost in
silence, and exactly once nothing is there twice, dead letters neither.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from confluent_kafka import Producer

from flows.source.transform.column_handle import compile_columns
from flows.source.transform.handler_batches import compile_handler_batches
from mm2.config.connector_settings import TransformSettings
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.odd_answers import WORDS
from tests.support.records import Sample, committed, create_topic, produce
from tests.support.specs import error_settings
from tests.support.topics import set_topic

pytestmark = pytest.mark.broker

_HANDLERS = "tests.support.user_handlers"
_ODD = "tests.support.odd_answers"


def _bench(
    source: Cluster,
    target: Cluster,
    unique: str,
    transforms: TransformSettings,
    *,
    partitions: int = 1,
    letters: str = "",
    **more: Any,
) -> Bench:
    create_topic(source.bootstrap, f"{unique}-t", partitions)
    changes: dict[str, object] = {"transforms": transforms}
    if letters:
        takes_all = {"max.message.bytes": "10000000", "message.timestamp.type": "LogAppendTime"}
        create_topic(target.bootstrap, letters, configs=takes_all)
        changes["errors"] = error_settings(
            tolerates=True, dead_letter_topic=letters, context_headers=True
        )
    topics = {f"{unique}-t": partitions}
    return Bench(source, target, unique, topics, changes=changes, **more)


def _values(cluster: Cluster, topic: str) -> list[bytes | None]:
    return [each.value for each in committed(cluster.bootstrap, topic)]


@pytest.mark.parametrize("name", ["handle", "change"])
def test_what_is_odd_is_copied_or_a_dead_letter_and_all_else_arrives(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, name: str
) -> None:
    """Its copy is compacted, so that it takes no record without a key."""
    compile_columns()
    compile_handler_batches()
    letters, where = f"{unique}-letters", f"{_ODD}:{name}"
    transforms = (
        TransformSettings(handler=where) if name == "handle" else TransformSettings(function=where)
    )
    bench = _bench(
        cluster_a,
        cluster_b,
        unique,
        transforms,
        letters=letters,
        exactly_once=True,
        remote_configs={"cleanup.policy": "compact", "segment.ms": "3600000"},
    )
    (topic,), words = bench.topics, WORDS[name]
    values = [each for word in words for each in (b"a", word, b"b", b"c", b"d")]
    samples = [Sample(key=b"k", value=value) for value in values]
    produce(cluster_a.bootstrap, topic, samples, codec="lz4")
    with bench.running():
        eventually(lambda: bench.progress()[topic, 0].position == len(values) - 1)
    found = committed(cluster_b.bootstrap, bench.remote(topic))
    assert [each.value for each in found if len(each.value or b"..") == 1] == [
        value for value in values if len(value) == 1
    ]
    renamed: dict[bytes | None, bytes] = {None: b"tombstone"}
    counts = Counter(renamed.get(each.value, each.value) for each in found)
    assert {word: counts[word] for word in words} == {
        word: count or 0 for word, count in words.items()
    }
    assert _values(cluster_b, f"{bench.remote(topic)}.more") == [b"elsewhere"]
    refused = committed(cluster_b.bootstrap, letters)
    assert [each.value for each in refused] == [
        word for word, count in words.items() if count is None
    ]
    assert bench.progress()[topic, 0].dead_letters == len(refused)


def test_a_dead_letter_and_the_position_behind_it_are_of_one_transaction(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """The task is killed after that, while the handler waits at the next record."""
    letters, ready = f"{unique}-letters", tmp_path / "ready"
    transforms = TransformSettings(handler=f"{_HANDLERS}:FailsAndWaits", handler_args=str(ready))
    bench = _bench(cluster_a, cluster_b, unique, transforms, letters=letters, exactly_once=True)
    (topic,) = bench.topics
    values = [b"1", b"bad", b"hold", b"bad", b"2"]
    produce(cluster_a.bootstrap, topic, [Sample(value=value) for value in values])
    with bench.detached():
        eventually(lambda: _values(cluster_b, letters) == [b"bad"])
    ready.touch()
    with bench.running():
        eventually(lambda: bench.progress()[topic, 0].position == 4)
    assert _values(cluster_b, letters) == [b"bad", b"bad"]
    assert _values(cluster_b, bench.remote(topic)) == [b"1", b"hold", b"2"]


@pytest.mark.parametrize("exactly_once", [False, True])
def test_what_a_handler_answers_when_it_is_cancelled_does_not_count(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path, *, exactly_once: bool
) -> None:
    """Another partition is written to, so that the stop has something to wait for."""
    waits, over = tmp_path / "waits", Event()
    transforms = TransformSettings(handler=f"{_HANDLERS}:GivesUp", handler_args=str(waits))
    bench = _bench(
        cluster_a, cluster_b, unique, transforms, partitions=2, exactly_once=exactly_once
    )
    (topic,) = bench.topics

    def write() -> None:
        producer = Producer({"bootstrap.servers": cluster_a.bootstrap, "linger.ms": 1})
        while not over.wait(0.0005):
            producer.produce(topic, value=b"x" * 2_000, partition=1)
            producer.poll(0)
        producer.flush(60)

    produce(cluster_a.bootstrap, topic, [Sample(value=b"1")])
    writing = Thread(target=write)
    writing.start()
    try:
        with bench.running():
            eventually(lambda: bench.progress()[topic, 0].position == 0)
            produce(cluster_a.bootstrap, topic, [Sample(value=b"hold")])
            eventually(waits.exists)
    finally:
        over.set()
        writing.join()
    assert bench.progress()[topic, 0].position == 0


def test_a_handler_that_cancels_its_own_task_stops_its_partition_and_nothing_is_lost(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    over = tmp_path / "over"
    transforms = TransformSettings(handler=f"{_HANDLERS}:CancelsItself", handler_args=str(over))
    bench = _bench(cluster_a, cluster_b, unique, transforms, partitions=2, exactly_once=True)
    (topic,) = bench.topics
    values = [b"1", b"cancel", b"2"]
    produce(cluster_a.bootstrap, topic, [Sample(value=value) for value in values])
    with bench.running():
        eventually(lambda: "cancels its own" in (bench.progress()[topic, 0].error or ""))
        produce(cluster_a.bootstrap, topic, [Sample(value=b"3", partition=1)])
        eventually(lambda: bench.progress()[topic, 1].position == 0)
    over.touch()
    with bench.running():
        eventually(lambda: bench.progress()[topic, 0].position == 2)
    found = _values(cluster_b, bench.remote(topic))
    assert Counter(found) == Counter([*values, b"3"])


def test_exactly_once_others_go_on_while_the_target_refuses_a_part_of_what_a_record_became(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """What it takes of that record is in no transaction that is committed."""
    odd, other = f"{unique}-t", f"{unique}-other"
    create_topic(cluster_a.bootstrap, other)
    transforms = TransformSettings(handler=f"{_HANDLERS}:sized", handler_topics=(odd,))
    bench = _bench(
        cluster_a,
        cluster_b,
        unique,
        transforms,
        exactly_once=True,
        remote_configs={"max.message.bytes": "2000"},
    )
    bench.topics = {odd: 1, other: 1}
    create_topic(cluster_b.bootstrap, bench.remote(other))
    produce(cluster_a.bootstrap, odd, [Sample(value=b"%d" % n) for n in range(4)])
    values = [b"%d" % n for n in range(500)]
    with bench.running():
        for rounds in (1, 2):
            produce(cluster_a.bootstrap, other, [Sample(value=value) for value in values])
            wanted = values * rounds
            eventually(lambda: _values(cluster_b, bench.remote(other)), until=wanted.__eq__)
        assert "MESSAGE_TOO_LARGE" in (bench.progress()[odd, 0].error or "")
    assert _values(cluster_b, bench.remote(odd)) == []
    set_topic(cluster_b, bench.remote(odd), "max.message.bytes", "20000")
    with bench.running():
        eventually(lambda: bench.progress()[odd, 0].position == 3)
    found = [(value or b"").split(b" ")[0] for value in _values(cluster_b, bench.remote(odd))]
    assert found == [b"%d.%d" % (n, copy) for n in range(4) for copy in range(3)]
    assert _values(cluster_b, bench.remote(other)) == values * 2
