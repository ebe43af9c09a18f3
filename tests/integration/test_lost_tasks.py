"""Tasks that are killed or paused: what they leave, and what they may no longer write."""

from __future__ import annotations

import json
import signal
import time
from contextlib import suppress
from functools import partial
from subprocess import Popen, TimeoutExpired

import pytest

from mm2.core.leadership.state_machine import RENEW_MS
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import BundleState, DesiredFlowState, FlowState, Lease
from mm2.protocol.progress_records import BundleProgress
from tests.support.batches import CODECS, Plain, write_batch
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.process import freeze
from tests.support.raw import contents, log_of, records_in, write
from tests.support.records import create_topic

pytestmark = pytest.mark.broker


def _numbered(first: int, count: int, *, codec: int = 0) -> bytes:
    records = [Plain(offset=n, timestamp=n + 1, value=b"%d" % (first + n)) for n in range(count)]
    return write_batch(records, codec_number=codec)


def _numbers(cluster: Cluster, topic: str) -> list[int]:
    return [int(content[2]) for content in contents(cluster.bootstrap, topic)]  # type: ignore[call-overload]  # the value of a record


def _await(cluster: Cluster, topic: str, count: int) -> None:
    eventually(lambda: _numbers(cluster, topic), until=lambda found: len(found) >= count)


def test_what_a_killed_task_had_copied_without_saying_so_is_not_copied_again(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    """At least once allows duplicates; there are none where the target's end can be read."""
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
    remote = bench.remote(topic_name)
    bench.changes = {"flush_interval_s": 3_600.0}
    for kill in range(2):
        first = kill * 50
        with bench.detached():
            for codec in CODECS:
                batch = _numbered(first + codec * 10, 10, codec=codec)
                write(cluster_a.bootstrap, topic_name, batch)
            _await(cluster_b, remote, first + 50)
    bench.changes = {}
    with bench.running() as totals:
        write(cluster_a.bootstrap, topic_name, _numbered(100, 10))
        _await(cluster_b, remote, 110)
    assert _numbers(cluster_b, remote) == list(range(110))
    assert totals.result()["records"] == 10


@pytest.mark.parametrize("is_other", [False, True])
def test_a_long_tail_is_compared_up_to_the_first_difference(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str, *, is_other: bool
) -> None:
    """Several fetches of the target, between which the source is fetched."""
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
    remote, count = bench.remote(topic_name), 12
    bench.changes = {"flush_interval_s": 3_600.0}
    write(cluster_a.bootstrap, topic_name, _large(0))
    with bench.running():
        _await(cluster_b, remote, 1)
    with bench.detached():
        write(cluster_a.bootstrap, topic_name, *map(_large, range(1, count // 2)))
        _await(cluster_b, remote, count // 2)
    if is_other:
        write(cluster_b.bootstrap, remote, _large(99))
    with bench.detached():
        write(cluster_a.bootstrap, topic_name, *map(_large, range(count // 2, count)))
        _await(cluster_b, remote, count + is_other)
    bench.changes = {}
    with bench.running() as totals:
        write(cluster_a.bootstrap, topic_name, _large(count))
        eventually(lambda: _numbers(cluster_b, remote), until=lambda found: found[-1] == count)
    first, behind = [*range(count // 2)], [*range(count // 2, count)]
    expected = [*first, 99, *behind, *behind] if is_other else [*first, *behind]
    assert _numbers(cluster_b, remote) == [*expected, count]
    assert totals.result()["records"] == 1 + is_other * len(behind)


def _large(number: int) -> bytes:
    """A record that leaves no room for another in a fetch of the source."""
    return write_batch([Plain(timestamp=number + 1, value=b"%900000d" % number)])


def test_a_paused_task_that_wakes_up_writes_nothing_more(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str
) -> None:
    """Design 2.4: the newer task's first batch fences the older one on that partition."""
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
    remote = bench.remote(topic_name)
    write(cluster_a.bootstrap, topic_name, _numbered(0, 10))
    with bench.detached() as paused:
        _await(cluster_b, remote, 10)
        eventually(lambda: bench.progress()[topic_name, 0].position == 9)
        freeze(paused.pid)
        with bench.running():
            write(cluster_a.bootstrap, topic_name, _numbered(10, 10))
            _await(cluster_b, remote, 20)
            paused.send_signal(signal.SIGCONT)
            for more in range(20, 100, 10):
                write(cluster_a.bootstrap, topic_name, _numbered(more, 10))
            assert paused.wait(60) != 0, "it ends with an error"
            _await(cluster_b, remote, 100)
    assert _numbers(cluster_b, remote) == list(range(100))


@pytest.mark.parametrize("exactly_once", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_a_task_that_slept_while_its_flow_was_stopped_leaves_its_positions_alone(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, topic_name: str, *, exactly_once: bool
) -> None:
    """An operator who saw it silent for longer than its lease may have changed them meanwhile."""
    create_topic(cluster_a.bootstrap, topic_name)
    changes = {"flush_interval_s": 3_600.0}
    bench = Bench(
        cluster_a, cluster_b, unique, {topic_name: 1}, exactly_once=exactly_once, changes=changes
    )
    remote = bench.remote(topic_name)
    write(cluster_a.bootstrap, topic_name, _numbered(0, 10))
    with bench.detached() as frozen:
        _await(cluster_b, remote, 10)
        eventually(lambda: _positions(cluster_b, unique), until=lambda found: found[-1:] == [9])
        lease = Lease(epoch=bench.epoch, owner="n", lasts_ms=4_000)
        bench.tell(*encode_control(lease))
        write(cluster_a.bootstrap, topic_name, _numbered(10, 10))
        bench.command(BundleState.RUNNING)
        eventually(partial(_renewed, bench, lease), until=lambda report: report.generation == 2)
        freeze(frozen.pid)
        time.sleep(4.5)  # The lease is told by the clock of the machine.
        before = _positions(cluster_b, unique)
        bench.tell(*encode_control(DesiredFlowState(state=FlowState.STOPPED)))
        frozen.send_signal(signal.SIGCONT)
        assert _status_of_led(bench, lease, frozen) != 0, "it says that it did not drain"
    assert _positions(cluster_b, unique) == before


def _renewed(bench: Bench, lease: Lease) -> BundleProgress:
    """The last report of a task whose leader renews its lease at each look."""
    bench.tell(*encode_control(lease))
    return bench.reports()[-1]


def _status_of_led(bench: Bench, lease: Lease, task: Popen[bytes]) -> int | None:
    """How a task ends whose leader is there: renewals at their distance would make it go on."""

    def status() -> int | None:
        bench.tell(*encode_control(lease))
        with suppress(TimeoutExpired):
            return task.wait(RENEW_MS / 1_000)
        return None

    return eventually(status, until=lambda found: found is not None)


def _positions(cluster: Cluster, unique: str) -> list[int]:
    """Everything that tasks have written to the positions topic, in order."""
    return [
        json.loads(record.value or b"{}")["offset"]
        for partition in range(2)
        for record in records_in(
            log_of(cluster.bootstrap, f"{unique}-offsets", partition=partition)
        )
    ]
