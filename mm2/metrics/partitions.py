"""The partitions of the flows that a node leads, with what their series are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mm2.config.flow_config import FlowConfig
from mm2.core.copy_totals import Counts
from mm2.core.model import NO_OFFSET
from mm2.herder.view.flow_views import PartitionView
from mm2.herder.view.led_flow import LedFlow
from mm2.herder.view.seen_partition import SeenPartition
from mm2.herder.view.view_builder import partition_view
from mm2.metrics.exposition import Value


@dataclass(slots=True, kw_only=True)
class Flow:
    """
    A flow, and the time of its series.

    Attributes:
        led: the flow.
        config: with what operators have altered.
        now_ms: the time by the clock of its reports.
    """

    led: LedFlow
    config: FlowConfig
    now_ms: int

    @property
    def clusters(self) -> dict[str, str]:
        """Its labels as Java has them."""
        return {"source": self.config.flow.source, "target": self.config.flow.target}

    @property
    def names(self) -> dict[str, str]:
        """Its labels in our own series: connectors may share both clusters."""
        return {"flow": self.config.herder.names.label, **self.clusters}

    def connector(self, part: str) -> str:
        """The name of one of its connectors, as over REST."""
        config = self.config
        return f"{config.flow}.{part}" if config.is_dedicated else config.herder.names.label


def flow_of(led: LedFlow, now_ms: int) -> Flow:
    """A flow with the settings that it runs with."""
    snapshot = led.snapshot
    return Flow(led=led, config=snapshot.altered(led.config), now_ms=snapshot.clock_ms(now_ms))


@dataclass(slots=True, kw_only=True)
class Partition:
    """
    A partition that is assigned to a task.

    Attributes:
        view: how far it is, as commands and the status page show it.
        seen: what was reported; None if nothing was yet.
        counts: of all tasks that ever had it.
        now_ms: the time.
    """

    flow: Flow
    view: PartitionView
    seen: SeenPartition | None
    counts: Counts
    now_ms: int

    @property
    def labels(self) -> dict[str, object]:
        """Java's, after those of the clusters: the topic is the remote one."""
        return {"topic": self.view.remote, "partition": self.view.source.partition}

    @property
    def end(self) -> Value:
        """Where the source's log ends."""
        return self._known(self.view.end)

    @property
    def copied(self) -> Value:
        """The source offset up to which all is copied, that one included."""
        return self._known(self.view.position)

    @property
    def behind_s(self) -> Value:
        """For how long the copy has not been complete."""
        behind_ms = self.seen.behind_ms(self.now_ms) if self.seen else None
        return None if behind_ms is None else behind_ms / 1000

    @property
    def eta_s(self) -> Value:
        """When the copy will be complete, as fast as both logs grow now; +Inf is never."""
        lag, grows_per_s = self.view.lag, self.view.lag_per_s
        if not lag:
            return lag
        return lag / -grows_per_s if grows_per_s < 0 else float("inf")

    @staticmethod
    def _known(offset: int) -> Value:
        return None if offset == NO_OFFSET else offset


def partitions_of(flow: Flow) -> Iterator[Partition]:
    """The partitions that the last leader has given to tasks."""
    snapshot = flow.led.snapshot
    for assignment in snapshot.assigned():
        for source in assignment.partitions:
            total, seen = snapshot.totals.get(source), snapshot.partitions.get(source)
            yield Partition(
                flow=flow,
                view=partition_view(assignment, source, seen, flow.now_ms),
                seen=seen,
                counts=Counts() if total is None else total.counts,
                now_ms=flow.now_ms,
            )
