"""
The snapshot of a flow: the records of its control, progress and status topics, and its group.

The leader, other nodes and commands on other machines read the same. Records of other kinds, and
those that cannot be decoded, are ignored: they may be of a newer release.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

import structlog

from mm2.config.flow_config import FlowConfig
from mm2.config.overrides import apply_valid_overrides
from mm2.core.connect.status_records import ActiveTopic, RunState, TopicKey, decode_key
from mm2.core.connect.status_table import StatusTable
from mm2.core.copy_totals import CopyTotal, TaskCounts
from mm2.core.leadership.placement import Member
from mm2.core.model import NO_OFFSET, SOURCE_CONNECTOR, TopicPartition
from mm2.errors import SchemaError
from mm2.herder.view.seen_partition import SeenPartition
from mm2.kafka.groups.group_model import GroupMembers, GroupState
from mm2.kafka.logs.records import Record
from mm2.protocol.checkpoint_progress import (
    CHECKPOINT_KEY,
    CheckpointLatency,
    CheckpointProgress,
    decode_checkpoint_progress,
)
from mm2.protocol.command_records import Alterations
from mm2.protocol.control_backlog import readable
from mm2.protocol.control_records import Assignment, Lease
from mm2.protocol.copied_records import decode_copied, is_of_copied
from mm2.protocol.desired_state import DesiredState
from mm2.protocol.heartbeat_progress import KEY as HEARTBEAT_KEY
from mm2.protocol.heartbeat_progress import HeartbeatProgress, decode_heartbeats
from mm2.protocol.member_metadata import decode_member
from mm2.protocol.progress_records import (
    BundleProgress,
    PartitionProgress,
    decode_progress,
    is_of_bundle,
)

log = structlog.get_logger()

_LASTS_MS: Final = 15_000
"""For leases without a duration; tasks report every few seconds."""

_CONNECT: Final = "connect"
"""Protocol of a group of Connect's workers, as Kafka's own MirrorMaker has them."""


class FlowSnapshot:
    """
    A flow as its topics show it.

    Attributes:
        lease: of the leader, or the last one; None if there never was one.
        assignments: what each bundle has, of whatever epoch.
        reports: the last one of each bundle.
        errors: why partitions have stopped, as they were reported last.
        totals: what all tasks together have copied of partitions.
        task_bytes: what each task has copied since it is followed, by its number.
        checkpoint_latencies: of checkpoints by group, topic and partition, and when they were told.
        heartbeats, checkpoints: the last report about them.
        active_topics: topics that connectors have written to since the status topic was read, or
            since their entries were removed (KIP-558).
        members: of the flow's group; set by who describes it.
    """

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self.lease_ms = 0
        self.desired = DesiredState()
        self.assignments: dict[int, Assignment] = {}
        self.reports: dict[int, BundleProgress] = {}
        self.partitions: dict[TopicPartition, SeenPartition] = {}
        self.errors: dict[TopicPartition, str] = {}
        self.totals: dict[TopicPartition, CopyTotal] = defaultdict(CopyTotal)
        self.task_bytes: Counter[int] = Counter()
        self.checkpoint_latencies: dict[tuple[str, str, int], tuple[CheckpointLatency, int]] = {}
        self.heartbeats: HeartbeatProgress | None = None
        self.checkpoints: CheckpointProgress | None = None
        self.statuses = StatusTable()
        self.active_topics: dict[TopicKey, ActiveTopic] = {}
        self._counted = NO_OFFSET
        self._altered: tuple[Alterations, FlowConfig, FlowConfig] | None = None
        self.members = GroupMembers(state=GroupState.UNKNOWN)

    def apply_control(self, record: Record) -> None:
        """Takes the next record of the control topic."""
        if is_of_copied(record.key):
            self._take_copied(record)
            return
        entry = readable(record)
        self.desired = self.desired.then(entry)
        match entry:
            case Lease() as lease:
                if self.lease is None or lease.epoch >= self.lease.epoch:
                    self.lease, self.lease_ms = lease, record.timestamp_ms
            case Assignment() as assignment:
                known = self.assignments.get(assignment.index)
                if known is None or _age(assignment) >= _age(known):
                    self.assignments[assignment.index] = assignment

    def apply_progress(self, record: Record) -> None:
        """Takes the next record of the progress topic."""
        try:
            if is_of_bundle(record.key):
                # A topic that is read again tells what has been counted.
                is_new = record.offset > self._counted
                self._counted = max(self._counted, record.offset)
                self._take_report(decode_progress(record.value), is_new=is_new)
            elif record.key == HEARTBEAT_KEY:
                self.heartbeats = decode_heartbeats(record.value)
            elif record.key == CHECKPOINT_KEY:
                self._take_checkpoints(decode_checkpoint_progress(record.value))
        except SchemaError as error:
            log.warning("progress.unreadable", offset=record.offset, error=str(error))

    def apply_status(self, record: Record) -> None:
        """Takes the next record of the status topic."""
        try:
            self.statuses.take(record.key, record.value)
            if record.value is None and isinstance(key := decode_key(record.key), TopicKey):
                self.active_topics.pop(key, None)
        except SchemaError as error:
            log.warning("status.unreadable", offset=record.offset, error=str(error))

    def desired_state_of(self, connector: str) -> RunState:
        """A connector's target state; a stopped flow stops its source connector alone."""
        return RunState[self.desired.state_of(connector).name]

    def altered(self, config: FlowConfig) -> FlowConfig:
        """The flow of a file with the alterations that are valid for it."""
        changed, last = self.desired.alterations, self._altered
        if last is None or last[0] is not changed or last[1] is not config:
            last = changed, config, apply_valid_overrides(config, changed.changes).config
            self._altered = last
        return last[2]

    @property
    def is_run_by_java(self) -> bool:
        """
        Whether workers of Kafka's own MirrorMaker are in the flow's group.

        A group is of their kind until brokers remove it, minutes after the last of them has left.
        """
        return bool(self.members.members) and self.members.protocol_type == _CONNECT

    def nodes(self) -> list[Member]:
        """The metadata of our nodes in the flow's group, in the broker's order."""
        if self.is_run_by_java:
            return []
        return [decode_member(each.user_data, each.member_id) for each in self.members.members]

    def is_led(self, now_ms: int) -> bool:
        """
        Whether the owner of the lease still leads, as far as records and group show.

        While the group is stable, its members decide: the broker expires them by its own clock.
        ``now_ms`` is the time here; clocks of others may differ.
        """
        lease = self.lease
        if lease is None or lease.is_released or self.is_run_by_java:
            return False
        nodes = {member.node for member in self.nodes()}
        if self.members.state is GroupState.STABLE and nodes:
            return lease.owner in nodes
        return now_ms - self.last_contact_ms() < (lease.lasts_ms or _LASTS_MS)

    def last_contact_ms(self) -> int:
        """
        When the leader has written last, by its clock; 0 for never.

        Tasks outlive a leader by a while, so their reports count only if leases are not renewed.
        """
        if self.lease is None or self.lease.lasts_ms:
            return self.lease_ms
        return self._newest_ms()

    def clock_ms(self, now_ms: int) -> int:
        """The time by the clock of the leader and its tasks: their newest record is now."""
        return self._newest_ms() if self.is_led(now_ms) else now_ms

    def reported(self) -> dict[int, BundleProgress]:
        """The last reports of the last leader's bundles."""
        epoch = self.lease.epoch if self.lease else 0
        return {number: each for number, each in self.reports.items() if each.epoch == epoch}

    def assigned(self) -> Iterator[Assignment]:
        """What the last leader has given to its bundles."""
        epoch = self.lease.epoch if self.lease else 0
        return (each for each in self.assignments.values() if each.epoch == epoch)

    def _newest_ms(self) -> int:
        return max([self.lease_ms, *(each.time_ms for each in self.reported().values())])

    def _take_report(self, report: BundleProgress, *, is_new: bool) -> None:
        self.reports[report.bundle] = report
        active: dict[str, None] = {}
        for each in report.partitions:
            source = each.source
            known = self.partitions.get(source)
            if each.records > (known.last.records if known else 0):
                active[each.remote] = None
            if known is None:
                known = self.partitions[source] = SeenPartition(each, report.time_ms)
                known.catching_up.begin(each.end - each.lag, report.time_ms)
            known.take(each, report)
            if each.error is not None:
                self.errors[source] = each.error
            else:
                self.errors.pop(source, None)
            if is_new:
                self._count(source, report, each)
        for remote in active:
            found = ActiveTopic(task=report.bundle, discovered_ms=report.time_ms)
            self.active_topics.setdefault(TopicKey(SOURCE_CONNECTOR, remote), found)
        if report.is_last:
            for total in self.totals.values():
                total.ended(report.run)

    def _count(
        self, source: TopicPartition, report: BundleProgress, each: PartitionProgress
    ) -> None:
        total = self.totals[source]
        _, before = total.copied
        total.take(
            TaskCounts(
                run=report.run,
                counts=each.counts,
                position=each.position,
                first=each.first,
                at_ms=report.time_ms,
            )
        )
        _, after = total.copied
        self.task_bytes[report.bundle] += after - before

    def _take_copied(self, record: Record) -> None:
        try:
            found = decode_copied(record.value) if record.value is not None else {}
        except SchemaError as error:
            log.warning("control.unreadable", offset=record.offset, error=str(error))
            return
        for source, stored in found.items():
            self.totals[source].restore(stored)

    def _take_checkpoints(self, progress: CheckpointProgress) -> None:
        self.checkpoints = progress
        for each in progress.latencies:
            key = each.group, each.topic, each.partition
            self.checkpoint_latencies[key] = each, progress.time_ms


def _age(assignment: Assignment) -> tuple[int, int]:
    return assignment.epoch, assignment.generation
