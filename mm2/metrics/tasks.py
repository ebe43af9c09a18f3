"""Connectors and tasks of the flows that a node leads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mm2.core.connect.status_records import RunState
from mm2.core.model import SOURCE_CONNECTOR
from mm2.herder.view.flow_views import ConnectorView
from mm2.herder.view.view_builder import own_connectors
from mm2.metrics.partitions import Flow
from mm2.protocol.progress_records import BundleProgress


@dataclass(frozen=True, slots=True)
class MeteredConnector:
    """
    A connector.

    Attributes:
        view: what it does.
    """

    flow: Flow
    view: ConnectorView

    @property
    def name(self) -> str:
        """As over REST."""
        return self.flow.connector(self.view.name)


@dataclass(frozen=True, slots=True)
class MeteredTask:
    """
    A task that copies.

    Attributes:
        report: its last one; None if there was none yet.
    """

    flow: Flow
    number: int
    report: BundleProgress | None

    @property
    def connector(self) -> str:
        """The name of its connector."""
        return self.flow.connector(SOURCE_CONNECTOR)

    @property
    def consumer(self) -> str:
        """The client id of its consumer, as Java has it."""
        found = self.flow.config.source.source_consumer("replication-consumer", self.number)
        return found["client.id"]

    @property
    def producer(self) -> str:
        """
        The client id of its producer, as Connect has it.

        With the connector's name as over REST: dedicated nodes have the same ids for all flows.
        """
        return f"connector-producer-{self.connector}-{self.number}"

    @property
    def bytes(self) -> int:
        """What it has copied since this node leads the flow."""
        return self.flow.led.snapshot.task_bytes.get(self.number, 0)

    @property
    def age_s(self) -> float | None:
        """How long ago it reported."""
        if self.report is None:
            return None
        return max(0, self.flow.now_ms - self.report.time_ms) / 1000


def connectors_of(flow: Flow) -> Iterator[MeteredConnector]:
    """The connectors that the flow's configuration asks for."""
    led = flow.led
    for view in own_connectors(led.config, led.snapshot, flow.now_ms, led.failures):
        yield MeteredConnector(flow, view)


def source_tasks_of(flow: Flow) -> Iterator[MeteredTask]:
    """The tasks that have partitions."""
    reports = flow.led.snapshot.reported()
    for assignment in sorted(flow.led.snapshot.assigned(), key=lambda each: each.index):
        if assignment.partitions:
            yield MeteredTask(flow, assignment.index, reports.get(assignment.index))


def is_rebalancing(connectors: list[MeteredConnector]) -> bool:
    """Whether tasks are being given to others, or begun again."""
    moving = {RunState.UNASSIGNED, RunState.RESTARTING}
    return any(task.state in moving for each in connectors for task in each.view.tasks)
