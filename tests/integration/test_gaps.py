"""Records that go missing at the source are noticed, counted and kept."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka import Producer

from mm2.core.positions.log_identity import Lineage
from tests.support.bundle import Bench
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually
from tests.support.gaps import MODES, expect_copied, gaps_of, kept_gaps, report_of, write_values
from tests.support.layout import major
from tests.support.raw import log_of, records_in
from tests.support.records import create_topic
from tests.support.specs import data_settings, gap_settings
from tests.support.topics import delete_before, set_topic

pytestmark = pytest.mark.broker

_WITH_EPOCH_OF_THE_KILLED = 4
"""The first version whose nodes, when killed, begin a new leader epoch with the only replica."""


def test_records_deleted_before_they_were_copied_are_counted_to_the_offset(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
    write_values(cluster_a, topic_name, b"0", b"1")
    with bench.running():
        expect_copied(bench, topic_name, [b"0", b"1"])
    write_values(cluster_a, topic_name, b"2", b"3", b"4", b"5")
    delete_before(cluster_a, topic_name, 5)
    with bench.running():
        expect_copied(bench, topic_name, [b"0", b"1", b"5"])
        report = report_of(bench, topic_name, "records-expired")
    (gap,) = gaps_of(report, "records-expired")
    assert (gap.first, gap.end, report.lost) == (2, 5, 3)
    assert [(e["first"], e["end"]) for e in kept_gaps(bench, "records-expired")] == [(2, 5)]


@MODES
def test_a_marker_that_is_deleted_behind_the_last_copied_record_is_no_loss(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str, *, exactly_once: bool
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1}, exactly_once=exactly_once)
    producer = Producer({"bootstrap.servers": cluster_a.bootstrap, "transactional.id": unique})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic_name, b"0")
    producer.commit_transaction(60)
    with bench.running():
        expect_copied(bench, topic_name, [b"0"])
        eventually(lambda: bench.progress()[topic_name, 0].position == 1)
    delete_before(cluster_a, topic_name, 2)
    write_values(cluster_a, topic_name, b"2")
    with bench.running():
        expect_copied(bench, topic_name, [b"0", b"2"])
    assert kept_gaps(bench, "records-expired") == []


@pytest.fixture(scope="module")
def damaged() -> Iterator[KafkaCluster]:
    """A source whose files are tampered with."""
    with KafkaCluster("D") as cluster:
        yield cluster


@pytest.mark.parametrize("is_running", [True, False])
def test_a_truncated_log_is_noticed_though_it_has_grown_again(
    *, damaged: KafkaCluster, cluster_b: Cluster, unique: str, topic_name: str, is_running: bool
) -> None:
    """As after an unclean leader election: the node comes back with an older state of the log."""
    create_topic(damaged.bootstrap, topic_name)
    bench = Bench(damaged, cluster_b, unique, {topic_name: 1})
    before, gone, after = [b"0", b"1"], [b"2 gone", b"3 gone"], [b"2", b"3", b"4", b"5"]
    write_values(damaged, topic_name, *before)
    backup = _stopped(damaged, topic_name)
    damaged.restart()
    write_values(damaged, topic_name, *gone)
    if is_running:
        with bench.running():
            expect_copied(bench, topic_name, before + gone)
            _put_back(damaged, topic_name, backup)
            write_values(damaged, topic_name, *after)
            expect_copied(bench, topic_name, before + gone + after)
    else:
        with bench.running():
            expect_copied(bench, topic_name, before + gone)
        _put_back(damaged, topic_name, backup)
        write_values(damaged, topic_name, *after)
        with bench.running():
            expect_copied(bench, topic_name, before + gone + after)
    report = report_of(bench, topic_name, "log-truncated")
    (gap,) = gaps_of(report, "log-truncated")
    assert (gap.first, gap.end, report.diverged, report.lost) == (2, 4, 2, 0)


def _stopped(cluster: KafkaCluster, topic: str) -> Path:
    """Shuts the node down, and keeps a partition's log as it is now."""
    cluster.stop_node()
    folder = cluster.log_folder(topic)
    backup = folder.parent.parent / f"backup-{uuid.uuid4().hex}"
    shutil.copytree(folder, backup)
    return backup


def _put_back(cluster: KafkaCluster, topic: str, backup: Path) -> None:
    """Has the node die, and brings it back with the log of a backup."""
    if major(cluster.version) < _WITH_EPOCH_OF_THE_KILLED:
        cluster.stop_node()
    else:
        cluster.kill()
    folder = cluster.log_folder(topic)
    shutil.rmtree(folder)
    shutil.copytree(backup, folder)
    for checkpoint in folder.parent.glob("*-offset-checkpoint"):
        checkpoint.unlink()
    cluster.restart()


def test_a_hanging_transaction_is_reported_while_it_holds_mirroring_back(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    data = data_settings(read_committed=True)
    gaps = gap_settings(hanging_transaction=timedelta(seconds=0.5))
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1}, data, gaps=gaps)
    write_values(cluster_a, topic_name, b"0")
    settings = {"bootstrap.servers": cluster_a.bootstrap, "transactional.id": unique}
    producer = Producer(settings)
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic_name, b"1")
    assert producer.flush(60) == 0
    write_values(cluster_a, topic_name, b"2")
    with bench.running():
        expect_copied(bench, topic_name, [b"0"])
        (gap,) = gaps_of(report_of(bench, topic_name, "transaction-hanging"), "transaction-hanging")
        assert (gap.first, gap.end, gap.is_open) == (1, 3, True)
        producer.commit_transaction(60)
        expect_copied(bench, topic_name, [b"0", b"1", b"2"])
        eventually(
            lambda: gaps_of(report_of(bench, topic_name, gap.kind), gap.kind)[0],
            until=lambda found: not found.is_open,
        )


def test_an_open_transaction_is_told_of_by_a_copy_that_does_not_wait_for_it(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
    settings = {"bootstrap.servers": cluster_a.bootstrap, "transactional.id": unique}
    producer = Producer(settings)
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic_name, b"0")
    assert producer.flush(60) == 0
    with bench.running():
        expect_copied(bench, topic_name, [b"0"])
        write_values(cluster_a, topic_name, b"1")
        eventually(lambda: bench.progress()[topic_name, 0].pinned_since_ms > 0)
        producer.commit_transaction(60)
        write_values(cluster_a, topic_name, b"2")
        eventually(lambda: bench.progress()[topic_name, 0].pinned_since_ms < 0)
        assert bench.progress()[topic_name, 0].gaps == ()


def test_falling_behind_a_compacted_topic_by_more_than_tombstones_stay_is_reported(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name, configs={"cleanup.policy": "compact"})
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
    values: list[bytes] = []

    def is_known_to_be_complete() -> bool:
        """As its last position says, which each record brings anew."""
        values.append(b"%d" % len(values))
        write_values(cluster_a, topic_name, values[-1])
        expect_copied(bench, topic_name, values)
        return _caught_up_ms(bench) > 0

    with bench.running():
        eventually(is_known_to_be_complete)
    assert not bench.progress()[topic_name, 0].gaps, "it was never behind"
    # Not before: a machine that stands still for so long would be behind, too.
    set_topic(cluster_a, topic_name, "delete.retention.ms", "4000")
    write_values(cluster_a, topic_name, b"late", b"later")
    stopped = time.monotonic()
    eventually(lambda: time.monotonic() - stopped > 4.5)
    with bench.running():
        expect_copied(bench, topic_name, [*values, b"late", b"later"])
        report = report_of(bench, topic_name, "tombstones-expired")
    (gap,) = gaps_of(report, "tombstones-expired")
    assert (gap.first, gap.end, report.lost) == (len(values), len(values) + 2, 0)


def _caught_up_ms(bench: Bench) -> int:
    """When the copy was complete, as the last position says that was stored."""
    records = [
        record
        for partition in (0, 1)
        for record in records_in(
            log_of(bench.target.bootstrap, f"{bench.unique}-offsets", partition=partition)
        )
    ]
    last = records[-1].headers if records else ()
    return Lineage.of((name.decode(), value) for name, value in last).caught_up_ms
