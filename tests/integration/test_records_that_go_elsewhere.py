"""Records that a transform sends elsewhere than to their partition's copy."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from mm2.config.connector_settings import TransformSettings
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, one_way
from tests.support.records import Sample, committed, create_topic, produce
from tests.support.specs import error_settings
from tests.support.topics import partition_counts, set_topic

pytestmark = pytest.mark.broker

_BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_MINUTES: Final = 3


def _bench(source: Cluster, target: Cluster, unique: str, **changes: Any) -> Bench:
    topic, handler = f"{unique}-t", "tests.support.user_handlers:spread"
    create_topic(source.bootstrap, topic, 2)
    spec = {"transforms": TransformSettings(handler=handler), **changes.pop("spec", {})}
    return Bench(source, target, unique, {topic: 2}, changes=spec, **changes)


def _topic(bench: Bench) -> str:
    (topic,) = bench.topics
    return topic


def _there(total: int) -> list[int]:
    """The numbers that ``spread`` sends elsewhere."""
    return [n for n in range(total) if n % 2 or n % 3 == 0]


def _here(total: int) -> list[int]:
    """The numbers that ``spread`` sends to the copy."""
    return [n for n in range(total) if n % 2 == 0 or n % 3 == 0]


def _numbers(bench: Bench, topic: str) -> list[int]:
    return [int(each.value or b"") for each in committed(bench.target.bootstrap, topic)]


def _write_to_both(bench: Bench, first: int, count: int) -> int:
    samples = [Sample(value=b"%d" % n, partition=n % 2) for n in range(first, first + count)]
    produce(bench.source.bootstrap, _topic(bench), samples)
    return first + count


def _await_spread(bench: Bench, total: int) -> None:
    remote = bench.remote(_topic(bench))

    def found() -> tuple[set[int], set[int]]:
        return set(_numbers(bench, remote)), set(_numbers(bench, f"{remote}.more"))

    eventually(found, until=lambda seen: seen == (set(_here(total)), set(_there(total))))


def _await_elsewhere(bench: Bench, count: int) -> None:
    topic = f"{bench.remote(_topic(bench))}.more"
    eventually(lambda: set(_numbers(bench, topic)), until=lambda found: len(found) >= count)


def test_records_go_to_a_topic_that_is_created_and_two_partitions_may_write_to_one(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    bench = _bench(cluster_a, cluster_b, unique)
    total, remote = 0, bench.remote(_topic(bench))
    with bench.running():
        for _ in range(3):
            total = _write_to_both(bench, total, 100)
            _await_spread(bench, total)
        eventually(lambda: all(each.lag == 0 for each in bench.progress().values()))
    assert {n: each.position for (_, n), each in bench.progress().items()} == {0: 149, 1: 149}
    assert partition_counts(cluster_b)[f"{remote}.more"] == 2
    found = _numbers(bench, f"{remote}.more")
    assert sorted(found) == _there(total)
    for parity in (0, 1):
        assert [n for n in found if n % 2 == parity] == [
            n for n in _there(total) if n % 2 == parity
        ]


@pytest.mark.parametrize("kills", [4, pytest.param(20, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("exactly_once", [False, True])
def test_killed_again_and_again_nothing_of_what_goes_elsewhere_is_lost(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, kills: int, *, exactly_once: bool
) -> None:
    """At least once they may come twice there, but in the order of their partition."""
    bench = _bench(cluster_a, cluster_b, unique, exactly_once=exactly_once)
    rng, remote = random.Random(5), bench.remote(_topic(bench))
    total = _write_to_both(bench, 0, 40)
    with bench.running():
        _await_spread(bench, total)
    for _ in range(kills):
        with bench.detached():
            for _ in range(rng.randint(5, 25)):
                total = _write_to_both(bench, total, rng.randint(1, 40))
            _await_elsewhere(bench, len(_there(total)) - rng.randint(0, 300))
    with bench.running():
        total = _write_to_both(bench, total, 10)
        _await_spread(bench, total)
        eventually(lambda: all(each.lag == 0 for each in bench.progress().values()))
    found = _numbers(bench, f"{remote}.more")
    firsts = list(dict.fromkeys(found))
    assert not exactly_once or found == firsts
    for parity in (0, 1):
        assert [n for n in firsts if n % 2 == parity] == [
            n for n in _there(total) if n % 2 == parity
        ]


def _refusing_bench(
    source: Cluster, target: Cluster, unique: str, *, tolerates: bool, letters: str | None = None
) -> Bench:
    """One that mirrors exactly once, where the other topic takes no record of more than 2 kB."""
    errors = error_settings(
        tolerates=tolerates, dead_letter_topic=letters, retry_delay=timedelta(seconds=1)
    )
    bench = _bench(source, target, unique, exactly_once=True, spec={"errors": errors})
    other = f"{bench.remote(_topic(bench))}.more"
    create_topic(target.bootstrap, other, 2, configs={"max.message.bytes": "2000"})
    return bench


def _write_large(bench: Bench, numbers: set[int], first: int, count: int) -> int:
    """As ``_write_to_both``, but some have 3 kB."""
    samples = [
        Sample(value=b"%03000d" % n if n in numbers else b"%d" % n, partition=n % 2)
        for n in range(first, first + count)
    ]
    produce(bench.source.bootstrap, _topic(bench), samples)
    return first + count


def test_exactly_once_what_another_topic_refuses_is_a_dead_letter_once(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    letters = f"{unique}-letters"
    create_topic(cluster_b.bootstrap, letters)
    bench = _refusing_bench(cluster_a, cluster_b, unique, tolerates=True, letters=letters)
    large, total = {6, 9, 21}, 0
    with bench.running():
        for _ in range(3):
            total = _write_large(bench, large, total, 20)
        eventually(
            lambda: {n: each.position for (_, n), each in bench.progress().items()},
            until=lambda found: found == {0: 29, 1: 29},
        )
    remote = bench.remote(_topic(bench))
    assert sorted(_numbers(bench, remote)) == _here(total)
    assert sorted(_numbers(bench, f"{remote}.more")) == [n for n in _there(total) if n not in large]
    assert sorted(_numbers(bench, letters)) == sorted(large)


def test_exactly_once_a_partition_stops_at_what_another_topic_refuses_and_others_go_on(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    bench = _refusing_bench(cluster_a, cluster_b, unique, tolerates=False)
    remote = bench.remote(_topic(bench))
    other = f"{remote}.more"
    with bench.running():
        total = _write_large(bench, {21}, 0, 20)
        _await_spread(bench, total)
        total = _write_large(bench, {21}, total, 40)
        eventually(lambda: bench.progress()[_topic(bench), 1].error)
        # Of the other partition all come.
        eventually(
            lambda: {n for n in _numbers(bench, other) if n % 2 == 0},
            until={n for n in _there(total) if n % 2 == 0}.__eq__,
        )
        assert bench.progress()[_topic(bench), 1].position < 21 // 2
        set_topic(cluster_b, other, "max.message.bytes", "1000000")
        _await_spread(bench, total)
        eventually(lambda: all(each.lag == 0 for each in bench.progress().values()))
    assert sorted(_numbers(bench, remote)) == _here(total)
    found = _numbers(bench, other)
    for parity in (0, 1):
        assert [n for n in found if n % 2 == parity] == [
            n for n in _there(total) if n % 2 == parity
        ]


def _routers(topic: str) -> dict[str, str]:
    """To ``routed-TOPIC-MINUTE``."""
    return {
        "A->B.transforms": "rename,divide",
        "A->B.transforms.rename.type": "RegexRouter",
        "A->B.transforms.rename.regex": f"A\\\\.({topic})",
        "A->B.transforms.rename.replacement": "routed-$1",
        "A->B.transforms.divide.type": "TimestampRouter",
        "A->B.transforms.divide.topic.format": "${topic}-${timestamp}",
        "A->B.transforms.divide.timestamp.format": "yyyyMMddHHmm",
        "A->B.transforms.divide.predicate": "isRenamed",
        "A->B.predicates": "isRenamed",
        "A->B.predicates.isRenamed.type": "TopicNameMatches",
        "A->B.predicates.isRenamed.pattern": "routed-.*",
    }


@pytest.mark.spark
@pytest.mark.thorough
def test_exactly_once_routers_of_a_file_send_each_record_once_although_drivers_are_killed(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    topic, total, rng = f"{unique}-t", 0, random.Random(unique)
    create_topic(cluster_a.bootstrap, topic, 2)
    settings = {**_routers(topic), "B.exactly.once.source.support": "enabled"}
    minutes = [_BEGIN + timedelta(minutes=n) for n in range(_MINUTES)]
    names = [f"routed-{topic}-{minute:%Y%m%d%H%M}" for minute in minutes]

    def write(count: int) -> int:
        samples = [
            Sample(
                value=b"%d" % n,
                partition=n % 2,
                timestamp_ms=int(minutes[n % _MINUTES].timestamp() * 1000),
            )
            for n in range(total, total + count)
        ]
        produce(cluster_a.bootstrap, topic, samples)
        return total + count

    def found() -> list[list[int]]:
        return [
            [int(each.value or b"") for each in committed(cluster_b.bootstrap, name)]
            for name in names
        ]

    total = write(100)
    for is_killed in (True, True, False):
        with Mirror(tmp_path, one_way(cluster_a, cluster_b, topic, settings)) as mirror:
            for _ in range(10):
                total = write(rng.randint(10, 300))
            aim = total // 2 if is_killed else total
            eventually(lambda: sum(map(len, found())), until=aim.__le__)
            if is_killed:
                total = write(300)
                mirror.kill()
                mirror.wait_gone()
            else:
                assert mirror.stop() == 0
    for minute, numbers in enumerate(found()):
        for parity in (0, 1):
            wanted = [n for n in range(total) if n % _MINUTES == minute and n % 2 == parity]
            assert [n for n in numbers if n % 2 == parity] == wanted
