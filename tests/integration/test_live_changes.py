"""A mirror is changed while it runs: by alterations, by another file, by pauses and restarts."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from confluent_kafka import Producer

from mm2.cli.mm2 import main
from mm2.protocol.control_codec import decode_control
from mm2.protocol.control_records import Assignment, BundleState
from mm2.protocol.progress_records import BundleProgress, decode_progress, is_of_bundle
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, properties
from tests.support.raw import log_of, records_in
from tests.support.records import Sample, consume, create_topic, produce

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(300)]

_RATE = 50_000_000


@dataclass
class _Traffic:
    """Numbered records on both partitions of a topic, until stopped."""

    bootstrap: str
    topic: str
    sent: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def flowing(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _run(self) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "enable.idempotence": True})
        while not self._stop.wait(0.02):
            for partition in (0, 1):
                producer.produce(self.topic, b"%d" % self.sent, partition=partition)
            self.sent += 1
            producer.poll(0)
        assert producer.flush(60) == 0


@dataclass(frozen=True)
class _Flow:
    """A flow of its own, of a topic that goes on and of one that comes and goes."""

    file: Path
    source: Cluster
    target: Cluster
    alias: str
    steady: str
    other: str

    @property
    def name(self) -> str:
        return f"{self.alias}->T"

    def write(self, *, topics: str, **more: str) -> str:
        settings = {
            f"{self.name}.enabled": "true",
            f"{self.name}.topics": topics,
            "assignment.balance.interval.seconds": "-1",
            "emit.heartbeats.enabled": "false",
            "heartbeats.replication.enabled": "false",
            "refresh.topics.interval.seconds": "600",
            **more,
        }
        clusters = {self.alias: self.source.bootstrap, "T": self.target.bootstrap}
        text = properties(clusters, settings)
        self.file.write_text(text)
        return text

    def run(self, command: str, *words: str) -> Result:
        return CliRunner().invoke(main, ["flows", command, str(self.file), *words])

    def ok(self, command: str, *words: str) -> str:
        result = self.run(command, *words)
        assert result.exit_code == 0, result.output
        return result.output

    def shown(self) -> dict[str, object]:
        (row,) = json.loads(
            CliRunner().invoke(main, ["flows", "show", str(self.file), "--format", "json"]).stdout
        )
        return dict(row)

    def copied(self, topic: str, count: int) -> list[Sample]:
        return consume(self.target.bootstrap, f"{self.alias}.{topic}", count, timeout=100)

    def assignments(self) -> dict[int, Assignment]:
        """The last one of each bundle of the last leader."""
        log = log_of(self.target.bootstrap, f"mm2-control.{self.alias}.internal")
        entries = [decode_control(each.key, each.value) for each in records_in(log)]
        found = [each for each in entries if isinstance(each, Assignment)]
        last = max(each.epoch for each in found)
        return {each.index: each for each in found if each.epoch == last}

    def holders(self) -> dict[str, set[int]]:
        """The bundles that have partitions, by topic."""
        found: dict[str, set[int]] = {}
        for index, assignment in self.assignments().items():
            for partition in assignment.partitions:
                found.setdefault(partition.topic, set()).add(index)
        return found

    def reports(self) -> list[BundleProgress]:
        log = log_of(self.target.bootstrap, f"mm2-progress.{self.alias}.internal")
        found = [r for r in records_in(log) if is_of_bundle(r.key)]
        return [decode_progress(record.value) for record in found]


@pytest.fixture
def flow(cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path) -> _Flow:
    steady, other = f"{unique}-steady", f"{unique}-other"
    create_topic(cluster_a.bootstrap, steady, 2)
    create_topic(cluster_a.bootstrap, other)
    file = tmp_path / "mm2.properties"
    return _Flow(file, cluster_a, cluster_b, f"S{unique[-8:]}", steady, other)


@pytest.mark.also_on_spark_cluster
def test_a_running_mirror_is_changed_and_what_is_not_concerned_goes_on(
    flow: _Flow, spark_settings: Mapping[str, str], tmp_path: Path
) -> None:
    produce(flow.source.bootstrap, flow.other, [Sample(value=b"1")])
    traffic = _Traffic(flow.source.bootstrap, flow.steady)
    two_slots = {"spark.master": "local[2]", "spark.cores.max": "2", **spark_settings}
    text = flow.write(topics=flow.steady, **two_slots)
    with Mirror(tmp_path, text) as mirror:
        with traffic.flowing():
            flow.copied(flow.steady, 2)
            _nothing_wrong_is_taken(flow)
            _topics_come(flow)
            _tasks_take_over(flow)
            _tasks_have_no_slot(flow, mirror)
            _tasks_become_fewer(flow)
            _tasks_start_anew(flow, mirror)
        copied = flow.copied(flow.steady, 2 * traffic.sent)
        for partition in (0, 1):
            numbers = [int(s.value or b"-1") for s in copied if s.partition == partition]
            assert numbers == list(range(traffic.sent)), "each once, in order, through all of it"
        assert "part.failed" not in mirror.text()
        flow.ok("pause", "--reason", "lunch")
        eventually(lambda: "flow.held" in mirror.text())
        assert mirror.stop() == 0
    produce(flow.source.bootstrap, flow.other, [Sample(value=b"2")])
    with Mirror(tmp_path, text) as mirror:
        eventually(lambda: "flow.held" in mirror.text())
        row = flow.shown()
        assert "MirrorSourceConnector paused" in str(row["connectors"])
        assert "tasks.max = 1" in str(row["altered"])
        assert [s.value for s in flow.copied(flow.other, 1)] == [b"1"], "paused, over the restart"
        flow.ok("resume")
        assert [s.value for s in flow.copied(flow.other, 2)] == [b"1", b"2"], "and altered, still"
        _the_file_counts_again(flow, mirror)
        assert mirror.stop() == 0


def _nothing_wrong_is_taken(flow: _Flow) -> None:
    result = flow.run("alter", "topics=(", "tasks.max=some", "topcs=x", "--execute")
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 3, result.stderr
    assert flow.shown()["altered"] is None


def _topics_come(flow: _Flow) -> None:
    told = flow.ok("alter", f"topics={flow.steady},{flow.other}")
    assert "would change: topics" in told
    flow.ok("alter", f"topics={flow.steady},{flow.other}", "--execute")
    assert [s.value for s in flow.copied(flow.other, 1)] == [b"1"]


def _tasks_take_over(flow: _Flow) -> None:
    flow.ok("alter", f"flow.byte.rate.limit={_RATE}", "offset.flush.interval.ms=100", "--execute")
    eventually(
        lambda: {each.pace.byte_rate_limit for each in flow.reports()[-2:]},
        until=lambda rates: rates == {_RATE / 2},
    )


def _tasks_have_no_slot(flow: _Flow, mirror: Mirror) -> None:
    """It is said, and nothing is given to a task that could not start."""
    told = flow.ok("alter", "tasks.max=3", "--execute")
    assert "2 tasks of all flows at the same time" in told
    eventually(lambda: "spark.too_narrow" in mirror.text())
    assert {n for found in flow.holders().values() for n in found} == {0, 1}


def _tasks_become_fewer(flow: _Flow) -> None:
    assert {n for found in flow.holders().values() for n in found} == {0, 1}
    flow.ok("alter", "tasks.max=1", "--execute")
    eventually(
        flow.assignments,
        until=lambda found: len(found[0].partitions) == 3 and found[1].state is BundleState.STOPPED,
    )


def _tasks_start_anew(flow: _Flow, mirror: Mirror) -> None:
    flow.ok("alter", "producer.override.max.request.size=2000000", "--execute")
    eventually(lambda: "bundle.restarted" in mirror.text())
    flow.ok("restart", "--connector", "MirrorSourceConnector", "--task", "0")
    eventually(lambda: mirror.text().count("bundle.restarted") == 2)


def _the_file_counts_again(flow: _Flow, mirror: Mirror) -> None:
    """SIGHUP: a wrong file changes nothing, a right one all that is different in it."""
    text = mirror.file.read_text()
    mirror.file.write_text(f"{text}{flow.name}.topics = (\n{flow.name}.tasks.max = x\n")
    mirror.process.send_signal(signal.SIGHUP)
    eventually(lambda: "config.rejected" in mirror.text())
    flow.ok("alter", "--reset-all", "--execute")
    eventually(lambda: flow.holders().keys(), until=lambda topics: topics == {flow.steady})
    way_back = f"T->{flow.alias}"
    right = text.replace(f"topics = {flow.steady}", f"topics = {flow.other}")
    mirror.file.write_text(f"{right}{way_back}.emit.heartbeats.enabled = true\n")
    mirror.process.send_signal(signal.SIGHUP)
    eventually(lambda: flow.holders().keys(), until=lambda topics: topics == {flow.other})
    eventually(lambda: _said(mirror, "flow.started", way_back))
    mirror.file.write_text(right)
    mirror.process.send_signal(signal.SIGHUP)
    eventually(lambda: _said(mirror, "flow.stopped", way_back))
    produce(flow.source.bootstrap, flow.other, [Sample(value=b"3")])
    assert [s.value for s in flow.copied(flow.other, 3)] == [b"1", b"2", b"3"]


def _said(mirror: Mirror, event: str, flow: str) -> bool:
    """Whether the log has an event of a flow."""
    lines = map(json.loads, (line for line in mirror.text().splitlines() if line.startswith("{")))
    return any(line.get("event") == event and line.get("flow") == flow for line in lines)
