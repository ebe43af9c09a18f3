"""What is seen of a flow: who leads it, what its connectors and tasks do, how far it is."""

from __future__ import annotations

from dataclasses import dataclass, field

from mm2.core.connect.status_records import RunState
from mm2.core.model import NO_OFFSET, SourceAndTarget, TopicName, TopicPartition
from mm2.protocol.desired_state import DesiredState
from mm2.protocol.progress_records import GapReport


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderView:
    """
    Who leads the flow, or led it last.

    Attributes:
        epoch: grows with each leader.
        worker_id: names it.
        age_ms: how long ago it was heard last.
        is_alive: whether it leads now, as far as can be seen.
    """

    epoch: int
    worker_id: str
    age_ms: int
    is_alive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """
    A node that is there to run the flow.

    Attributes:
        node: its id.
        host: where it runs, as the broker sees it.
        release: of the software; None if it does not say.
        config_digest: of what its file says about the flow; None if it does not say.
        leads: whether the flow is assigned to it.
        is_java: whether it is a worker of Kafka's own MirrorMaker.
    """

    node: str
    host: str
    release: str | None = None
    config_digest: str | None = None
    leads: bool = False
    is_java: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """
    A task of a connector.

    Attributes:
        task: its number.
        state: what it does.
        worker_id: of the node that runs it, or was the last to do so.
        generation: epoch of that node's leadership.
        trace: why it has failed, or which of its partitions stand and why; None unless it has.
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
        wanted: what operators want of it: RUNNING, PAUSED or STOPPED.
        reason: what they gave as their reason; empty for none.
        state: what it does.
        worker_id: of the node that runs it, or was the last to do so.
        generation: epoch of that node's leadership.
        trace: why it has failed; None unless it has.
        tasks: by their numbers.
        topics: that it writes to.
    """

    name: str
    wanted: RunState
    reason: str = ""
    state: RunState
    worker_id: str
    generation: int
    trace: str | None = None
    tasks: tuple[TaskView, ...] = ()
    topics: tuple[str, ...] = ()

    @property
    def is_as_wanted(self) -> bool:
        """Whether it does what it is to do, and so do all its tasks."""
        states = {task.state for task in self.tasks} - {RunState.RESTARTING}
        return self.state is self.wanted and states <= {self.wanted}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    """
    How far one partition of the source is copied.

    Attributes:
        source: the partition.
        remote: topic on the target.
        task: number of the task that has it.
        position: source offset of the last record copied; -1 for none, or if not known.
        end: where the source's log ends; -1 if not known.
        lag: records between both; None if not known.
        records_per_s: copied lately.
        bytes_per_s: the same, as compressed.
        latency_ms: the highest age of a record when it was acknowledged, of the last report.
        lost: offsets that were gone before they could be copied.
        diverged: offsets copied that the source no longer has.
        skipped: records that were passed over as ``errors.tolerance`` says.
        gaps: what was found missing, the last of each kind.
        error: why the partition stands; None while it does not.
        reported_ms: when the task spoke of it last, ms since the epoch; None if it never has.
        contested: the positions topic said different things of it; it went on at the newest.
    """

    source: TopicPartition
    remote: TopicName
    task: int
    position: int = NO_OFFSET
    end: int = NO_OFFSET
    lag: int | None = None
    records_per_s: float = 0.0
    bytes_per_s: float = 0.0
    latency_ms: int = 0
    lost: int = 0
    diverged: int = 0
    skipped: int = 0
    gaps: tuple[GapReport, ...] = ()
    error: str | None = None
    reported_ms: int | None = None
    contested: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """
    The partitions of a flow together.

    Attributes:
        partitions: how many.
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
    A flow as anybody sees it through Kafka.

    Attributes:
        flow: its name.
        time_ms: when it was read.
        leader: who leads it, or led it last; None if nobody ever has.
        nodes: that are there for it.
        steering: what operators want: of the flow, of its connectors, and over its settings.
        config_digest: of the configuration that the leader runs; None if it does not say.
        connectors: in Java's order.
        partitions: sorted.
        heartbeat_ms: time of the last heartbeat known of, ms since the epoch; None for none.
        groups: consumer groups whose offsets are translated; None if not known.
    """

    flow: SourceAndTarget
    time_ms: int
    leader: LeaderView | None = None
    nodes: tuple[NodeView, ...] = ()
    steering: DesiredState = field(default_factory=DesiredState)
    config_digest: str | None = None
    connectors: tuple[ConnectorView, ...] = ()
    partitions: tuple[PartitionView, ...] = ()
    heartbeat_ms: int | None = None
    groups: int | None = None

    @property
    def is_led(self) -> bool:
        """Whether somebody leads it now: one of our nodes, or Kafka's own MirrorMaker."""
        return self.is_run_by_java or (self.leader is not None and self.leader.is_alive)

    @property
    def is_run_by_java(self) -> bool:
        """Whether workers of Kafka's own MirrorMaker run it."""
        return any(node.is_java for node in self.nodes)

    @property
    def is_as_wanted(self) -> bool:
        """Whether somebody leads it, and all its connectors do what they are to do."""
        return self.is_led and all(each.is_as_wanted for each in self.connectors)

    @property
    def state(self) -> RunState:
        """The flow in one word: that nobody leads it, or that something failed, before all else."""
        tasks = [task.state for each in self.connectors for task in each.tasks]
        states = {*tasks, *(each.state for each in self.connectors)}
        if not self.is_led:
            return RunState.UNASSIGNED
        if RunState.FAILED in states or not self.connectors:
            return RunState.FAILED if states else RunState.RUNNING
        return self.connectors[0].state

    @property
    def other_nodes(self) -> tuple[NodeView, ...]:
        """Nodes whose file says something else of the flow than the leader's."""
        said = self.config_digest
        return tuple(each for each in self.nodes if said and each.config_digest not in (None, said))

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
