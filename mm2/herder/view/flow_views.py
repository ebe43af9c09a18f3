"""The view of a flow: its leader, nodes, connectors, tasks and partitions."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from mm2.core.connect.status_records import RunState
from mm2.core.model import NO_OFFSET, SourceAndTarget, TopicName, TopicPartition
from mm2.protocol.desired_state import DesiredState
from mm2.protocol.progress_records import GapReport


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderView:
    """
    The flow's leader, or its last one.

    Attributes:
        epoch: grows with each leader.
        age_ms: since its last lease record, or the last report of its tasks.
        is_alive: whether it leads now, as far as records and group show.
    """

    epoch: int
    worker_id: str
    age_ms: int
    is_alive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """
    A member of the flow's group.

    Attributes:
        host: its address, as the broker has it.
        release: None if its metadata do not contain it.
        config_digest: of the flow's settings in its file; None if its metadata do not contain it.
        is_java: whether it is a worker of Kafka's own MirrorMaker.
        is_warm: whether Spark is ready; on a cluster, whether that has given it executors.
    """

    node: str
    host: str
    release: str | None = None
    config_digest: str | None = None
    leads: bool = False
    is_java: bool = False
    is_warm: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """
    A task of a connector.

    Attributes:
        worker_id: of the node that runs it, or ran it last.
        generation: epoch of that node's leadership.
        trace: why it has failed, or which of its partitions have stopped and why.
    """

    task: int
    state: RunState
    worker_id: str
    generation: int
    trace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorView:
    """
    A connector of the flow.

    Attributes:
        name: Java's simple class name.
        target_state: RUNNING, PAUSED or STOPPED.
        reason: the operator's reason for it; empty for none.
        worker_id: of the node that runs it, or ran it last.
        generation: epoch of that node's leadership.
        tasks: in the order of their numbers.
    """

    name: str
    target_state: RunState
    reason: str = ""
    state: RunState
    worker_id: str
    generation: int
    trace: str | None = None
    tasks: tuple[TaskView, ...] = ()
    topics: tuple[str, ...] = ()

    @property
    def is_in_target_state(self) -> bool:
        """Whether it and all its tasks are in the target state."""
        states = {task.state for task in self.tasks} - {RunState.RESTARTING}
        return self.state is self.target_state and states <= {self.target_state}


class PartitionView(msgspec.Struct, frozen=True, kw_only=True):
    """
    How far one partition of the source is copied.

    Attributes:
        task: number of the task that has it.
        position: source offset of the last record copied; -1 for none, or if not known.
        end: where the source's log ends; -1 if not known.
        start: first offset that the source has; -1 if not known.
        lag: records between both; None if not known.
        lag_per_s: how fast the lag grows; negative while the copy catches up.
        records_per_s: copied lately.
        bytes_per_s: the same, as compressed.
        record_bytes: mean size of a copied record, as compressed; None if not known.
        latency_ms: the highest age of a record when it was acknowledged, of the last report.
        lost: offsets that were gone before they could be copied.
        diverged: offsets copied that the source no longer has.
        skipped: records left out because of ``errors.tolerance``.
        left_out: records of which transforms, or provenance, made no copy.
        gaps: the last gap of each kind.
        error: why the partition has stopped; None while it has not.
        reported_ms: of the task's last report of it, ms since the epoch; None if there is none.
        contested: the positions topic had different positions of it; the newest was used.
    """

    source: TopicPartition
    remote: TopicName
    task: int
    position: int = NO_OFFSET
    end: int = NO_OFFSET
    start: int = NO_OFFSET
    lag: int | None = None
    lag_per_s: float = 0.0
    records_per_s: float = 0.0
    bytes_per_s: float = 0.0
    record_bytes: float | None = None
    latency_ms: int = 0
    lost: int = 0
    diverged: int = 0
    skipped: int = 0
    left_out: int = 0
    gaps: tuple[GapReport, ...] = ()
    error: str | None = None
    reported_ms: int | None = None
    contested: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """
    The partitions of a flow together.

    Attributes:
        lag: of all whose lag is known.
        records_per_s: copied lately.
        bytes_per_s: the same, as compressed.
        latency_ms: the highest of any partition.
        standing: partitions that stand because of an error.
        unknown: partitions whose lag is not known.
        with_gaps: partitions where something was found missing.
    """

    partitions: int
    lag: int
    records_per_s: float
    bytes_per_s: float
    latency_ms: int
    standing: int
    unknown: int
    with_gaps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowView:
    """
    A flow, as Kafka shows it to every reader.

    Attributes:
        name: of the connector, if it is one of a Connect worker; else empty.
        leader: its leader, or its last one; None if it never had one.
        desired: the desired state of the flow and its connectors, and altered settings.
        config_digest: of the leader's configuration; None if its lease does not contain it.
        connectors: in Java's order.
        partitions: sorted.
        heartbeat_ms: time of the last heartbeat known of, ms since the epoch; None for none.
        groups: consumer groups whose offsets are translated; None if not known.
    """

    flow: SourceAndTarget
    time_ms: int
    name: str = ""
    leader: LeaderView | None = None
    nodes: tuple[NodeView, ...] = ()
    desired: DesiredState = field(default_factory=DesiredState)
    config_digest: str | None = None
    connectors: tuple[ConnectorView, ...] = ()
    partitions: tuple[PartitionView, ...] = ()
    heartbeat_ms: int | None = None
    groups: int | None = None

    @property
    def is_of_connector(self) -> bool:
        """Whether it is one connector of a Connect worker, and not a flow of a mirror's file."""
        return bool(self.name)

    @property
    def is_led(self) -> bool:
        """Whether it has a leader now: a node, or Kafka's own MirrorMaker."""
        return self.is_run_by_java or (self.leader is not None and self.leader.is_alive)

    @property
    def is_run_by_java(self) -> bool:
        """Whether workers of Kafka's own MirrorMaker run it."""
        return any(node.is_java for node in self.nodes)

    @property
    def is_in_target_state(self) -> bool:
        """Whether it has a leader, and all its connectors are in their target states."""
        return self.is_led and all(each.is_in_target_state for each in self.connectors)

    @property
    def state(self) -> RunState:
        """The state of the flow as a whole: UNASSIGNED and FAILED go before all others."""
        tasks = [task.state for each in self.connectors for task in each.tasks]
        states = {*tasks, *(each.state for each in self.connectors)}
        if not self.is_led:
            return RunState.UNASSIGNED
        if RunState.FAILED in states or not self.connectors:
            return RunState.FAILED if states else RunState.RUNNING
        return self.connectors[0].state

    @property
    def other_nodes(self) -> tuple[NodeView, ...]:
        """Nodes whose file has other settings of the flow than the leader's."""
        own = self.config_digest
        return tuple(each for each in self.nodes if own and each.config_digest not in (None, own))

    @property
    def totals(self) -> Totals:
        """All partitions together."""
        found = self.partitions
        return Totals(
            partitions=len(found),
            lag=sum(each.lag or 0 for each in found),
            records_per_s=sum(each.records_per_s for each in found),
            bytes_per_s=sum(each.bytes_per_s for each in found),
            latency_ms=max((each.latency_ms for each in found), default=0),
            standing=sum(each.error is not None for each in found),
            unknown=sum(each.lag is None for each in found),
            with_gaps=sum(bool(each.gaps) for each in found),
        )

    def connector(self, name: str) -> ConnectorView | None:
        """The connector of a name; None if the flow has none."""
        return next((each for each in self.connectors if each.name == name), None)
