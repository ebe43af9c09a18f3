"""Topics that are deleted and come back, on either side, are noticed and dealt with by policy."""

from __future__ import annotations

import pytest

from mm2.config.connector_settings import GapSettings
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.gaps import (
    FAILING,
    MODES,
    expect_copied,
    gaps_of,
    kept_gaps,
    report_of,
    values_of,
    write_values,
)
from tests.support.raw import log_of, records_in
from tests.support.records import create_topic
from tests.support.specs import gap_settings
from tests.support.topics import delete_topic, recreate_topic

pytestmark = pytest.mark.broker


def _two_topics(
    source: Cluster, target: Cluster, unique: str, *, gaps: GapSettings | None = None
) -> tuple[Bench, str, str]:
    """A flow of two topics, and their names; each has a record that is to be copied."""
    names = f"{unique}-1", f"{unique}-2"
    for name in names:
        create_topic(source.bootstrap, name)
        write_values(source, name, b"0")
    return Bench(
        source, target, unique, dict.fromkeys(names, 1), gaps=gaps or gap_settings()
    ), *names


@MODES
@pytest.mark.parametrize("is_running", [True, False])
def test_a_recreated_topic_is_copied_again_from_its_start(
    *,
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    topic_name: str,
    is_running: bool,
    exactly_once: bool,
) -> None:
    """
    The new log is longer than the position, so that no offset tells.

    Nor does a look, which comes too late: what tells are the ids that topics are asked for by.
    """
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(
        cluster_a,
        cluster_b,
        unique,
        {topic_name: 1},
        exactly_once=exactly_once,
        changes={"monitor_interval_s": 3_600.0},
    )
    old, new = [b"1", b"2", b"3"], [b"a", b"b", b"c", b"d", b"e"]
    with bench.running():
        write_values(cluster_a, topic_name, *old)
        expect_copied(bench, topic_name, old)
        if is_running:
            recreate_topic(cluster_a, topic_name)
            write_values(cluster_a, topic_name, *new)
            report = report_of(bench, topic_name, "topic-recreated")
            eventually(lambda: new[-1] in values_of(cluster_b, bench.remote(topic_name)))
    if not is_running:
        recreate_topic(cluster_a, topic_name)
        write_values(cluster_a, topic_name, *new)
        with bench.running():
            expect_copied(bench, topic_name, old + new)
            report = report_of(bench, topic_name, "topic-recreated")
    assert gaps_of(report, "topic-recreated")[0].first >= len(old)
    assert values_of(cluster_b, bench.remote(topic_name)) == old + new, "nothing is repeated"
    assert kept_gaps(bench, "topic-recreated")[0]["topic"] == topic_name
    with bench.running() as totals:
        write_values(cluster_a, topic_name, b"f")
        eventually(lambda: b"f" in values_of(cluster_b, bench.remote(topic_name)))
    assert totals.result()["records"] == 1, "the new position and the new id were stored together"


def test_by_policy_a_recreated_topic_stops_and_the_others_go_on(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    bench, first, second = _two_topics(cluster_a, cluster_b, unique, gaps=FAILING)
    with bench.running():
        expect_copied(bench, first, [b"0"])
        expect_copied(bench, second, [b"0"])
    recreate_topic(cluster_a, first)
    write_values(cluster_a, first, b"new", b"new")
    for turn in (1, 2):
        with bench.running():
            write_values(cluster_a, second, b"%d" % turn)
            expect_copied(bench, second, [b"0", b"1", b"2"][: turn + 1])
            report = report_of(bench, first, "topic-recreated")
            assert (report.error or "").startswith("topic-recreated: offsets 1 to")
    assert values_of(cluster_b, bench.remote(first)) == [b"0"]


@MODES
@pytest.mark.parametrize("is_running", [True, False])
def test_a_remote_topic_that_comes_back_empty_is_filled_again(
    *,
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    topic_name: str,
    is_running: bool,
    exactly_once: bool,
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1}, exactly_once=exactly_once)
    remote = bench.remote(topic_name)
    values = [b"0", b"1", b"2"]
    write_values(cluster_a, topic_name, *values)
    with bench.running():
        expect_copied(bench, topic_name, values)
        if is_running:
            delete_topic(cluster_b, remote)
            write_values(cluster_a, topic_name, b"3")
            eventually(lambda: _wished(bench, remote))
            create_topic(cluster_b.bootstrap, remote)
            expect_copied(bench, topic_name, [*values, b"3"])
            write_values(cluster_a, topic_name, b"4")
            expect_copied(bench, topic_name, [*values, b"3", b"4"])
    if not is_running:
        recreate_topic(cluster_b, remote)
        with bench.running():
            expect_copied(bench, topic_name, values)
    report = report_of(bench, topic_name, "remote-recreated")
    (gap,) = gaps_of(report, "remote-recreated")
    assert (gap.first, gap.end >= len(values), report.lost) == (0, True, 0)


def _wished(bench: Bench, remote: str) -> bool:
    """Whether the task has asked for a remote topic."""
    records = records_in(log_of(bench.target.bootstrap, f"{bench.unique}-control"))
    return f"missing-{remote}".encode() in {record.key for record in records}


def test_by_policy_a_deleted_remote_topic_stops_its_partitions_only(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    bench, first, second = _two_topics(cluster_a, cluster_b, unique, gaps=FAILING)
    with bench.running():
        expect_copied(bench, first, [b"0"])
        expect_copied(bench, second, [b"0"])
        delete_topic(cluster_b, bench.remote(first))
        report = eventually(
            lambda: bench.progress()[first, 0], until=lambda report: report.error is not None
        )
        assert "was deleted" in (report.error or "")
        write_values(cluster_a, second, b"1")
        expect_copied(bench, second, [b"0", b"1"])
    create_topic(cluster_b.bootstrap, bench.remote(first))
    with bench.running():
        report = report_of(bench, first, "remote-recreated")
        assert (report.error or "").startswith("remote-recreated")
    assert not _wished(bench, bench.remote(first))
    assert values_of(cluster_b, bench.remote(first)) == []


def test_a_deleted_source_topic_is_waited_for_in_silence(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bench, first, second = _two_topics(cluster_a, cluster_b, unique)
    said: list[str] = []

    def heard() -> str:
        said.append(capsys.readouterr().out)
        return "".join(said)

    with bench.running():
        expect_copied(bench, first, [b"0"])
        delete_topic(cluster_a, first)
        eventually(heard, until=lambda text: "source.topic_missing" in text)
        for value in range(1, 9):
            write_values(cluster_a, second, b"%d" % value)
            expect_copied(bench, second, [b"%d" % n for n in range(value + 1)])
        create_topic(cluster_a.bootstrap, first)
        write_values(cluster_a, first, b"new")
        expect_copied(bench, first, [b"0", b"new"])
    assert heard().count("source.topic_missing") == 1


def test_what_was_gone_stays_gone_when_exactly_once_is_switched_off_and_on_again(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    """The group still holds a position of the old topic, which is further on."""
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1}, exactly_once=True)
    write_values(cluster_a, topic_name, *(b"%d" % n for n in range(9)))
    with bench.running():
        eventually(lambda: b"8" in values_of(cluster_b, bench.remote(topic_name)))
    bench.exactly_once = False
    recreate_topic(cluster_a, topic_name)
    write_values(cluster_a, topic_name, b"a")
    with bench.running():
        eventually(lambda: b"a" in values_of(cluster_b, bench.remote(topic_name)))
    bench.exactly_once = True
    write_values(cluster_a, topic_name, *(b"b%d" % n for n in range(12)))
    with bench.running() as totals:
        eventually(lambda: b"b11" in values_of(cluster_b, bench.remote(topic_name)))
    assert totals.result()["records"] == 12
