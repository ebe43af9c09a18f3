"""Three nodes with one file: they share the flows, and go on where another one stops."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Self

import psutil
import pytest
from confluent_kafka import Producer

from flows.source.forward.record_batch import Batch
from mm2.protocol.control_codec import decode_control
from mm2.protocol.control_records import Lease
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.mirror import Mirror, properties
from tests.support.process import freeze
from tests.support.raw import log_of, records_in
from tests.support.records import create_topic

pytestmark = [pytest.mark.broker, pytest.mark.timeout(400)]

_PAUSE_S: Final = 0.02
_PRODUCER_EPOCH: Final = slice(51, 53)
"""Where a batch says how often its producer id has changed hands."""


@dataclass(frozen=True)
class _Flow:
    """A flow of one topic of one partition."""

    alias: str
    topic: str
    source: str
    target: str

    def lease(self) -> Lease:
        """The last one."""
        records = records_in(log_of(self.target, f"mm2-control.{self.alias}.internal"))
        entries = [decode_control(record.key, record.value) for record in records]
        return [entry for entry in entries if isinstance(entry, Lease)][-1]

    def leader(self, nodes: Mapping[str, Mirror]) -> str:
        """The node that leads the flow, by its name."""
        lease = self.lease()
        assert not lease.is_released
        (found,) = (name for name, node in nodes.items() if lease.owner in _led(node))
        return found

    def copied(self) -> list[Batch]:
        """What the target has."""
        return log_of(self.target, f"{self.alias}.{self.topic}")

    def numbers(self) -> list[int]:
        """The numbers of all copies, in the order of the target's log."""
        return [int(record.value or b"") for record in records_in(self.copied())]


def _led(node: Mirror) -> set[str]:
    """The names under which a node has led flows."""
    lines = (json.loads(line) for line in node.text().splitlines() if '"flow.led"' in line)
    return {line["owner"] for line in lines}


class _Traffic:
    """Writes numbered records to the topics of flows until told to stop."""

    def __init__(self, flows: list[_Flow]) -> None:
        self.last = -1
        self._flows = flows
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends it once all is written."""
        self._stopping.set()
        self._thread.join(PATIENCE_S)

    def _write(self) -> None:
        settings = {"bootstrap.servers": self._flows[0].source, "enable.idempotence": True}
        producer = Producer(settings)
        while not self._stopping.wait(_PAUSE_S):
            for flow in self._flows:
                producer.produce(flow.topic, str(self.last + 1).encode())
            self.last += 1
            producer.poll(0)
        producer.flush(PATIENCE_S)


@contextmanager
def _three_nodes(folder: Path, text: str) -> Iterator[dict[str, Mirror]]:
    with ExitStack() as stack:
        nodes = {}
        for name in ("one", "two", "three"):
            (folder / name).mkdir()
            nodes[name] = stack.enter_context(Mirror(folder / name, text))
        yield nodes


def _freeze_all(node: Mirror) -> None:
    """The driver, its JVM and their workers, as if their machine slept; a cluster's go on."""
    freeze(node.process.pid, *(each.pid for each in node.family()))


def _wake_all(node: Mirror) -> None:
    for process in [psutil.Process(node.process.pid), *node.family()]:
        with suppress(psutil.NoSuchProcess):
            process.resume()


def _arrived(flow: _Flow, number: int) -> bool:
    return number in flow.numbers()


def _catches_up(flow: _Flow, number: int) -> None:
    """Waits for what was written last: that goes on, so the present is never reached."""
    eventually(partial(_arrived, flow, number))


@pytest.mark.also_on_spark_cluster
def test_nodes_share_flows_and_take_over_from_each_other(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    aliases = [f"{letter}{unique[-8:]}" for letter in "XY"]
    flows = [
        _Flow(alias, f"{unique}-{alias}", cluster_a.bootstrap, cluster_b.bootstrap)
        for alias in aliases
    ]
    sleeping, leaving = flows
    settings = {"emit.heartbeats.enabled": "false", "heartbeats.replication.enabled": "false"}
    for flow in flows:
        create_topic(flow.source, flow.topic)
        settings[f"{flow.alias}->T.enabled"] = "true"
        settings[f"{flow.alias}->T.topics"] = flow.topic
    clusters = dict.fromkeys(aliases, cluster_a.bootstrap) | {"T": cluster_b.bootstrap}
    with _three_nodes(tmp_path, properties(clusters, settings)) as nodes, _Traffic(flows) as sent:
        for flow in flows:
            eventually(partial(_arrived, flow, 0), timeout=120)
        # The first node whose Spark is warm leads both, until another one's is.
        sleeper, leaver = eventually(
            lambda: [flow.leader(nodes) for flow in flows],
            until=lambda leaders: len(set(leaders)) == len(flows),
            timeout=120,
        )

        _freeze_all(nodes[sleeper])
        asleep_since = sent.last
        assert nodes.pop(leaver).stop() == 0
        heir = eventually(lambda: leaving.leader(nodes))
        assert heir != sleeper
        _catches_up(leaving, sent.last)
        numbers = leaving.numbers()
        assert numbers == list(range(len(numbers))), "each once: it was handed over cleanly"

        assert eventually(lambda: sleeping.leader({heir: nodes[heir]})) == heir
        _catches_up(sleeping, asleep_since + 200)
        _wake_all(nodes[sleeper])
        eventually(lambda: '"flow.abandoned"' in nodes[sleeper].text())
        _catches_up(sleeping, sent.last)
        epochs = [int.from_bytes(each.data[_PRODUCER_EPOCH], "big") for each in sleeping.copied()]
        assert epochs == sorted(epochs), "who woke up has written nothing"

        nodes.pop(heir).kill()
        for flow in flows:
            assert eventually(partial(flow.leader, nodes)) == sleeper
        sent.stop()
        for flow in flows:
            _catches_up(flow, sent.last)
            numbers = flow.numbers()
            first_copies = list(dict.fromkeys(numbers))
            assert first_copies == list(range(sent.last + 1)), "nothing is lost, all is in order"
        assert nodes[sleeper].stop() == 0
