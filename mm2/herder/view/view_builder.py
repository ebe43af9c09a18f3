"""
Derives the view of a flow from a snapshot of its topics: a pure function.

The leader writes the derived states to the status topic; REST, commands and metrics show the view.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from mm2.config.flow_config import FlowConfig
from mm2.core.connect.run_states import connector_state, task_state, trace_of
from mm2.core.connect.status_records import ConnectorKey, RunState, Status, TaskKey
from mm2.core.model import (
    CHECKPOINT_CONNECTOR,
    HEARTBEAT_CONNECTOR,
    NO_OFFSET,
    SOURCE_CONNECTOR,
    TopicPartition,
)
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.herder.view.flow_views import (
    ConnectorView,
    FlowView,
    LeaderView,
    NodeView,
    PartitionView,
    TaskView,
)
from mm2.herder.view.seen_partition import SeenPartition
from mm2.kafka.groups.group_model import GroupMember
from mm2.protocol.control_records import Assignment

Failures: TypeAlias = Mapping[ConnectorKey | TaskKey, str]
"""Why connectors and tasks of the leader's own process do not run."""


def build_view(config: FlowConfig, snapshot: FlowSnapshot, now_ms: int) -> FlowView:
    """
    The flow's view from outside; a live leader's entries in the status topic take precedence.

    ``now_ms`` is the time here; clocks of others may differ.
    """
    builder = _ViewBuilder(config, snapshot, now_ms, None)
    heartbeats, checkpoints = snapshot.heartbeats, snapshot.checkpoints
    return FlowView(
        flow=config.flow,
        time_ms=now_ms,
        name="" if config.is_dedicated else config.herder.names.label,
        leader=builder.leader(),
        config_digest=snapshot.lease.digest or None if snapshot.lease else None,
        nodes=tuple(builder.nodes()),
        desired=snapshot.desired,
        connectors=tuple(builder.connectors()),
        partitions=tuple(sorted(builder.partitions(), key=lambda each: each.source)),
        heartbeat_ms=None if heartbeats is None else heartbeats.last_ms,
        groups=None if checkpoints is None else checkpoints.groups,
    )


def own_connectors(
    config: FlowConfig, snapshot: FlowSnapshot, now_ms: int, failures: Failures
) -> list[ConnectorView]:
    """The connectors as the leader itself knows them, with the failures in its own process."""
    return list(_ViewBuilder(config, snapshot, now_ms, failures).connectors())


def connectors_of(config: FlowConfig) -> list[str]:
    """The connectors that the flow's configuration asks for, in Java's order of start."""
    there = {
        SOURCE_CONNECTOR: config.source.enabled,
        CHECKPOINT_CONNECTOR: config.checkpoint.enabled or config.emits_checkpoints,
        HEARTBEAT_CONNECTOR: config.heartbeat.emit_heartbeats is not None,
    }
    return [name for name in config.parts if there[name]]


class _ViewBuilder:
    """
    Derives the parts of one view.

    Args:
        failures: None for the view from outside, which takes them from the status topic.
    """

    def __init__(
        self,
        config: FlowConfig,
        snapshot: FlowSnapshot,
        now_ms: int,
        failures: Failures | None,
    ) -> None:
        self._config = snapshot.altered(config)
        self._snapshot = snapshot
        self._failures: Failures = failures or {}
        self._is_own = is_own = failures is not None
        self._is_java = snapshot.is_run_by_java
        lease = snapshot.lease
        self._epoch, self._worker = (lease.epoch, lease.owner) if lease else (0, "")
        self._age_ms = max(0, now_ms - snapshot.last_contact_ms())
        self._is_led = is_own or snapshot.is_led(now_ms)
        self._now_ms = now_ms if is_own else snapshot.clock_ms(now_ms)
        self._reported = snapshot.reported()

    def leader(self) -> LeaderView | None:
        """Who leads, or led last."""
        if self._snapshot.lease is None:
            return None
        return LeaderView(
            epoch=self._epoch,
            worker_id=self._worker,
            age_ms=self._age_ms,
            is_alive=self._is_led,
        )

    def nodes(self) -> Iterator[NodeView]:
        """Who is in the flow's group."""
        members = self._snapshot.members.members
        if self._is_java:
            for each in members:
                yield NodeView(node=each.client_id, host=_host(each), is_java=True)
        for each, member in zip(members, self._snapshot.nodes(), strict=False):
            yield NodeView(
                node=member.node,
                host=_host(each),
                release=member.release or None,
                config_digest=member.digest or None,
                leads=self._is_led and member.node == self._worker,
                is_warm=member.is_warm,
            )

    def connectors(self) -> Iterator[ConnectorView]:
        """All connectors, with their tasks."""
        names = connectors_of(self._config)
        others = [] if self._is_own else self._snapshot.statuses.connectors()
        for name in dict.fromkeys([*names, *others]):
            if name in names or self._written(ConnectorKey(name)) is not None:
                yield self._connector(name)

    def partitions(self) -> Iterator[PartitionView]:
        """All partitions that are given to tasks."""
        known = self._snapshot.partitions
        for assignment in self._assignments():
            for source in assignment.partitions:
                yield partition_view(assignment, source, known.get(source), self._now_ms)

    def _connector(self, name: str) -> ConnectorView:
        key, tasks = ConnectorKey(name), tuple(self._tasks(name))
        target = self._snapshot.desired_state_of(name)
        failure = self._refusal(name) or self._failures.get(key)
        state = connector_state(
            target, is_led=self._is_led, failure=failure, still_runs=self._still_runs(name)
        )
        status = self._written(key) or self._status(state, failure)
        return ConnectorView(
            name=name,
            target_state=target,
            reason=self._snapshot.desired.reason_of(name),
            state=status.state,
            worker_id=status.worker_id,
            generation=status.generation,
            trace=status.trace,
            tasks=tasks,
            topics=tuple(self._snapshot.statuses.topics_of(name)),
        )

    def _tasks(self, name: str) -> Iterator[TaskView]:
        known = self._source_tasks() if name == SOURCE_CONNECTOR else self._small_task(name)
        numbers = self._snapshot.statuses.tasks(name)
        written = {
            n: each for n in numbers if (each := self._written(TaskKey(name, n))) is not None
        }
        for number, status in sorted({**known, **written}.items()):
            yield TaskView(
                task=number,
                state=status.state,
                worker_id=status.worker_id,
                generation=status.generation,
                trace=status.trace,
            )

    def _source_tasks(self) -> dict[int, Status]:
        target = self._snapshot.desired_state_of(SOURCE_CONNECTOR)
        found = {}
        for assignment in self._assignments():
            number = assignment.index
            failure = self._failures.get(TaskKey(SOURCE_CONNECTOR, number)) or self._errors(
                assignment
            )
            state = task_state(
                target, is_led=self._is_led, failure=failure, silent_ms=self._silent_ms(number)
            )
            if state is not None:
                found[number] = self._status(state, failure)
        return found

    def _small_task(self, name: str) -> dict[int, Status]:
        """Checkpoints and heartbeats are a task each, in the leader's own process, unless off."""
        is_off = name == CHECKPOINT_CONNECTOR and not self._config.emits_checkpoints
        if is_off or self._is_java or self._refusal(name) is not None:
            return {}
        failure = self._failures.get(TaskKey(name, 0))
        target = self._snapshot.desired_state_of(name)
        silent_ms = 0 if target is RunState.RUNNING else None
        state = task_state(target, is_led=self._is_led, failure=failure, silent_ms=silent_ms)
        return {} if state is None else {0: self._status(state, failure)}

    def _status(self, state: RunState, failure: str | None) -> Status:
        return Status(
            state=state,
            worker_id=self._worker,
            generation=self._epoch,
            trace=failure if state is RunState.FAILED else None,
        )

    def _written(self, key: ConnectorKey | TaskKey) -> Status | None:
        """The entry in the status topic, if it is of who runs the flow now."""
        status = self._snapshot.statuses.statuses.get(key)
        if self._is_own or status is None:
            return None
        if self._is_java:
            return status
        return status if self._is_led and status.generation == self._epoch else None

    def _refusal(self, name: str) -> str | None:
        """Why Java would not create the connector, and we do not run it."""
        config = self._config
        settings = {
            SOURCE_CONNECTOR: config.source,
            CHECKPOINT_CONNECTOR: config.checkpoint,
            HEARTBEAT_CONNECTOR: config.heartbeat,
        }
        return "\n".join(settings[name].refusals) or None if name in settings else None

    def _assignments(self) -> list[Assignment]:
        """Those of the last leader that have partitions; none if workers of Java's run the flow."""
        if self._is_java:
            return []
        found = (each for each in self._snapshot.assigned() if each.partitions)
        return sorted(found, key=lambda each: each.index)

    def _still_runs(self, name: str) -> bool:
        target = self._snapshot.desired_state_of(name)
        return name == SOURCE_CONNECTOR and any(
            task_state(target, is_led=True, silent_ms=self._silent_ms(a.index)) is RunState.RUNNING
            for a in self._assignments()
        )

    def _silent_ms(self, bundle: int) -> int | None:
        report = self._reported.get(bundle)
        if report is None or report.is_last:
            return None
        return max(0, self._now_ms - report.time_ms)

    def _errors(self, assignment: Assignment) -> str | None:
        errors = self._snapshot.errors
        return trace_of(
            {where: error for where, error in errors.items() if where in assignment.partitions}
        )


def partition_view(
    assignment: Assignment, source: TopicPartition, known: SeenPartition | None, now_ms: int
) -> PartitionView:
    """How far a partition of an assignment is; ``known`` is None if nobody has reported it."""
    remote, task = assignment.partitions[source], assignment.index
    if known is None:
        return PartitionView(source=source, remote=remote, task=task)
    last = known.last
    return PartitionView(
        source=source,
        remote=remote,
        task=task,
        position=last.position,
        end=last.end,
        start=last.start,
        lag=None if last.end == NO_OFFSET else last.lag,
        lag_per_s=known.lag.rate(now_ms),
        records_per_s=known.records.rate(now_ms),
        bytes_per_s=known.bytes.rate(now_ms),
        record_bytes=last.bytes / last.records if last.records else None,
        latency_ms=last.latency_ms,
        lost=last.lost,
        diverged=last.diverged,
        skipped=last.skipped,
        left_out=last.left_out,
        gaps=last.gaps,
        error=last.error,
        reported_ms=known.at_ms,
        contested=last.contested,
    )


def _host(member: GroupMember) -> str:
    return member.host.removeprefix("/")
