"""
Puts a flow together from the records of its control, progress and status topics.

Works for whoever reads them: the leader itself, another node, a command on another machine. Records
of other kinds, and those that cannot be read, are passed over: they may be of a newer release.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import structlog

from mm2.config.flow_config import FlowConfig
from mm2.config.overrides import apply_valid_overrides
from mm2.core.connect.status_records import (
    ActiveTopic,
    ConnectorKey,
    RunState,
    TaskKey,
    TopicKey,
    decode_key,
)
from mm2.core.connect.status_table import StatusTable
from mm2.core.leadership.placement import Member
from mm2.core.model import SOURCE_CONNECTOR, TopicPartition
from mm2.core.rates import WindowedRate
from mm2.errors import SchemaError
from mm2.kafka.group_model import GroupMembers, GroupState
from mm2.kafka.logs.records import Record
from mm2.protocol.checkpoint_progress import (
    CHECKPOINT_KEY,
    CheckpointProgress,
    decode_checkpoint_progress,
)
from mm2.protocol.command_records import Alterations
from mm2.protocol.control_records import Assignment, Lease
from mm2.protocol.desired_state import DesiredState, readable, readable_command
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

_WINDOW_MS: Final = 10_000

_LASTS_MS: Final = 15_000
"""For leases that do not say how long they count; tasks report each few seconds."""

_CONNECT: Final = "connect"
"""Protocol of a group of Connect's workers, as Kafka's own MirrorMaker has them."""


@dataclass(slots=True)
class SeenPartition:
    """
    What was reported of a partition.

    Attributes:
        last: the newest report.
        at_ms: when.
        records: how fast it is copied.
        bytes: the same, in bytes.
    """

    last: PartitionProgress
    at_ms: int
    records: WindowedRate = field(default_factory=lambda: WindowedRate(_WINDOW_MS))
    bytes: WindowedRate = field(default_factory=lambda: WindowedRate(_WINDOW_MS))


class FlowSnapshot:
    """
    A flow as its topics show it.

    Attributes:
        lease: who leads, or led last; None if nobody ever has.
        lease_ms: when that was written.
        steering: what operators want.
        assignments: what each bundle has, of whatever epoch.
        reports: the last one of each bundle.
        partitions: what was reported of them.
        heartbeats: the last report about them.
        checkpoints: the last report about them.
        statuses: what the status topic says.
        used: topics that connectors have written to since the status topic was read, or since they
            were taken from there.
        failures: why connectors and tasks do not run, as only the leader itself knows.
        members: the nodes; whoever has asked the broker puts them here.
    """

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self.lease_ms = 0
        self.steering = DesiredState()
        self.assignments: dict[int, Assignment] = {}
        self.reports: dict[int, BundleProgress] = {}
        self.partitions: dict[TopicPartition, SeenPartition] = {}
        self.heartbeats: HeartbeatProgress | None = None
        self.checkpoints: CheckpointProgress | None = None
        self.statuses = StatusTable()
        self.used: dict[TopicKey, ActiveTopic] = {}
        self._altered: tuple[Alterations, FlowConfig, FlowConfig] | None = None
        self.failures: dict[ConnectorKey | TaskKey, str] = {}
        self.members = GroupMembers(state=GroupState.UNKNOWN)

    def apply_control(self, record: Record) -> None:
        """Takes the next record of the control topic."""
        entry = readable(record)
        self.steering = self.steering.then(entry).then(readable_command(record))
        match entry:
            case Lease() as lease:
                if self.lease is None or lease.epoch >= self.lease.epoch:
                    self.lease, self.lease_ms = lease, record.timestamp_ms
            case Assignment() as assignment:
                known = self.assignments.get(assignment.index)
                if known is None or _age(assignment) >= _age(known):
                    self.assignments[assignment.index] = assignment
            case _:
                pass

    def apply_progress(self, record: Record) -> None:
        """Takes the next record of the progress topic."""
        try:
            if is_of_bundle(record.key):
                self._take_report(decode_progress(record.value))
            elif record.key == HEARTBEAT_KEY:
                self.heartbeats = decode_heartbeats(record.value)
            elif record.key == CHECKPOINT_KEY:
                self.checkpoints = decode_checkpoint_progress(record.value)
        except SchemaError as error:
            log.warning("progress.unreadable", offset=record.offset, error=str(error))

    def apply_status(self, record: Record) -> None:
        """Takes the next record of the status topic."""
        try:
            self.statuses.take(record.key, record.value)
            if record.value is None and isinstance(key := decode_key(record.key), TopicKey):
                self.used.pop(key, None)
        except SchemaError as error:
            log.warning("status.unreadable", offset=record.offset, error=str(error))

    def desired_state_of(self, connector: str) -> RunState:
        """What operators want of a connector; a flow that is stopped goes on with its others."""
        return RunState[self.steering.state_of(connector).name]

    def altered(self, config: FlowConfig) -> FlowConfig:
        """The flow of a file with what operators have altered, as far as that fits the file."""
        changed = self.steering.alterations
        if (
            self._altered is None
            or self._altered[0] is not changed
            or self._altered[1] is not config
        ):
            self._altered = changed, config, apply_valid_overrides(config, changed.changes).config
        return self._altered[2]

    @property
    def is_run_by_java(self) -> bool:
        """
        Whether workers of Kafka's own MirrorMaker are in the flow's group.

        A group is of their kind until brokers remove it, minutes after the last of them has left.
        """
        return bool(self.members.members) and self.members.protocol_type == _CONNECT

    def nodes(self) -> list[Member]:
        """What our nodes in the flow's group say of themselves, in the broker's order."""
        if self.is_run_by_java:
            return []
        return [decode_member(each.user_data, each.member_id) for each in self.members.members]

    def is_led(self, now_ms: int) -> bool:
        """
        Whether who wrote the lease still leads, as far as can be seen.

        The broker knows best, by its own clock, as long as nobody comes or goes.

        Args:
            now_ms: the time here; clocks of others may differ.
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
        When the leader was heard last, by its clock; 0 for never.

        Tasks outlive a leader by a while, so they tell only where a lease is not renewed.
        """
        if self.lease is None or self.lease.lasts_ms:
            return self.lease_ms
        return self._newest_ms()

    def clock_ms(self, now_ms: int) -> int:
        """
        The time by the clock of those whose reports count.

        Clocks differ: while a leader is there, the last word of it or its tasks is what is now.

        Args:
            now_ms: the time here.
        """
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

    def _take_report(self, report: BundleProgress) -> None:
        self.reports[report.bundle] = report
        run = report.epoch, report.bundle, report.pid
        for each in report.partitions:
            known = self.partitions.get(each.source)
            if each.records > (known.last.records if known else 0):
                active = ActiveTopic(task=report.bundle, discovered_ms=report.time_ms)
                self.used.setdefault(TopicKey(SOURCE_CONNECTOR, each.remote), active)
            if known is None:
                known = self.partitions[each.source] = SeenPartition(each, report.time_ms)
            known.last, known.at_ms = each, report.time_ms
            known.records.observe(each.records, run=run, at_ms=report.time_ms)
            known.bytes.observe(each.bytes, run=run, at_ms=report.time_ms)


def _age(assignment: Assignment) -> tuple[int, int]:
    """Tells which of a bundle's assignments is the newer one."""
    return assignment.epoch, assignment.generation
