"""Records that the target refuses: bisected, then stopped at or skipped as ``errors.*`` say."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType

from mm2.protocol.progress_records import PartitionProgress
from tests.support.batches import Plain, write_batch
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.raw import contents, log_of, records_in, write
from tests.support.records import create_topic
from tests.support.specs import error_settings

pytestmark = pytest.mark.broker

_TIME = 1_700_000_000_000
_COMPACTED = {"cleanup.policy": "compact"}


def _keyed(first: int, count: int, *, without: tuple[int, ...] = ()) -> list[Plain]:
    """
    Records numbered by their values; those ``without`` a key no compacted topic takes.

    Each has a key of its own, so that cleaning leaves them all: a segment of such old records ends
    with the first marker of a transaction, which is of today.
    """
    return [
        Plain(
            offset=n - first,
            timestamp=_TIME + n,
            key=None if n in without else b"%d" % n,
            value=b"%d" % n,
        )
        for n in range(first, first + count)
    ]


def _numbers(cluster: Cluster, topic: str) -> list[int]:
    return [int(r.value or b"") for r in records_in(log_of(cluster.bootstrap, topic))]


def _report(bench: Bench, topic: str) -> PartitionProgress:
    found = bench.progress().get((topic, 0))
    assert found is not None, "no report yet"
    return found


@pytest.mark.parametrize("exactly_once", [False, True])
def test_refused_records_go_to_the_dead_letter_topic_and_the_others_arrive_in_order(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str, *, exactly_once: bool
) -> None:
    bad = (0, 5, 6, 17, 29, 40)
    create_topic(cluster_a.bootstrap, topic_name)
    batches = [
        write_batch(_keyed(first, 10, without=bad), codec_number=codec)
        for codec, first in enumerate(range(0, 50, 10))
    ]
    letters = f"{unique}-letters"
    create_topic(cluster_b.bootstrap, letters)
    spec = error_settings(tolerates=True, dead_letter_topic=letters, context_headers=True)
    bench = Bench(
        cluster_a,
        cluster_b,
        unique,
        {topic_name: 1},
        remote_configs=_COMPACTED,
        exactly_once=exactly_once,
        changes={"errors": spec},
    )
    remote = bench.remote(topic_name)
    good = [n for n in range(50) if n not in bad]
    with bench.running():
        for batch in batches:
            write(cluster_a.bootstrap, topic_name, batch)
        eventually(lambda: _numbers(cluster_b, remote), until=lambda found: found == good)
        report = eventually(lambda: _report(bench, topic_name), until=lambda r: r.position == 49)
    assert (report.skipped, report.error) == (len(bad), None)
    found = records_in(log_of(cluster_b.bootstrap, letters))
    assert [(r.timestamp, r.key, r.value) for r in found] == [
        (_TIME + n, None, b"%d" % n) for n in bad
    ]
    headers = dict(found[1].headers)
    assert headers[b"__connect.errors.topic"] == topic_name.encode()
    assert headers[b"__connect.errors.partition"] == b"0"
    assert headers[b"__connect.errors.offset"] == b"5"
    assert headers[b"__connect.errors.stage"] == b"KAFKA_PRODUCE"
    assert headers[b"__connect.errors.exception.message"] == b"INVALID_RECORD"
    with bench.running() as totals:
        eventually(lambda: _report(bench, topic_name))
    assert totals.result()["records"] == 0
    assert len(records_in(log_of(cluster_b.bootstrap, letters))) == len(bad)


def test_without_a_dead_letter_topic_refused_records_are_counted_and_skipped(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    """C472 among others: too large, too far in the future, without a key."""
    create_topic(
        cluster_a.bootstrap, topic_name, configs={"message.timestamp.after.max.ms": "9" * 18}
    )
    records = _keyed(0, 9, without=(4,))
    records[1] = Plain(offset=1, timestamp=_TIME, key=b"k", value=b"1" + b" " * 6_000)
    future = int(time.time() * 1_000) + 7_200_000
    records[7] = Plain(offset=7, timestamp=future, key=b"k", value=b"7")
    write(cluster_a.bootstrap, topic_name, write_batch(records))
    bench = Bench(
        cluster_a,
        cluster_b,
        unique,
        {topic_name: 1},
        remote_configs={
            **_COMPACTED,
            "max.message.bytes": "4000",
            "message.timestamp.after.max.ms": "3600000",  # the default since 4.0
        },
        changes={"errors": error_settings(tolerates=True)},
    )
    remote = bench.remote(topic_name)
    with bench.running():
        eventually(
            lambda: _numbers(cluster_b, remote), until=lambda found: found == [0, 2, 3, 5, 6, 8]
        )
        report = eventually(lambda: _report(bench, topic_name), until=lambda r: r.position == 8)
    assert (report.skipped, report.error) == (3, None)


def test_a_dead_letter_that_is_refused_too_stops_the_partition(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    write(cluster_a.bootstrap, topic_name, write_batch(_keyed(0, 4, without=(2,))))
    letters = f"{unique}-letters"
    create_topic(cluster_b.bootstrap, letters, configs=_COMPACTED)
    bench = Bench(
        cluster_a,
        cluster_b,
        unique,
        {topic_name: 1},
        remote_configs=_COMPACTED,
        changes={"errors": error_settings(tolerates=True, dead_letter_topic=letters)},
    )
    with bench.running():
        report = eventually(
            lambda: _report(bench, topic_name),
            until=lambda r: f"{letters} answers INVALID_RECORD" in (r.error or ""),
        )
    assert report.position == 1
    assert _numbers(cluster_b, bench.remote(topic_name)) == [0, 1]


def test_a_stopped_partition_goes_on_by_itself_when_the_target_is_mended(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    large = [
        Plain(offset=n, timestamp=_TIME, value=b"x" * (6_000 if n == 3 else 9)) for n in range(6)
    ]
    write(cluster_a.bootstrap, topic_name, write_batch(large))
    bench = Bench(
        cluster_a,
        cluster_b,
        unique,
        {topic_name: 1},
        remote_configs={"max.message.bytes": "4000"},
        changes={"errors": error_settings(retry_delay=timedelta(seconds=0.5))},
    )
    remote = bench.remote(topic_name)
    with bench.running():
        stopped = eventually(
            lambda: _report(bench, topic_name),
            until=lambda r: "record at offset 3 for good: MESSAGE_TOO_LARGE" in (r.error or ""),
        )
        assert (stopped.position, stopped.skipped) == (2, 0)
        _allow(cluster_b, remote, "10000")
        eventually(
            lambda: contents(cluster_b.bootstrap, remote),
            until=lambda found: found == contents(cluster_a.bootstrap, topic_name),
        )
        eventually(lambda: _report(bench, topic_name), until=lambda r: r.error is None)


def _allow(cluster: Cluster, topic: str, size: str) -> None:
    entry = ConfigEntry("max.message.bytes", size, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    (done,) = admin.incremental_alter_configs([resource]).values()
    done.result(60)
