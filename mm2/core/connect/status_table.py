"""The contents of Connect's status topic, and what to write of connectors that no worker runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mm2.core.connect.config_records import TargetState
from mm2.core.connect.status_records import (
    ActiveTopic,
    ConnectorKey,
    Entry,
    Key,
    RunState,
    Status,
    StatusChange,
    TaskKey,
    TopicKey,
    decode_key,
    decode_status,
    decode_topic,
)
from mm2.core.model import CONNECTORS


@dataclass(slots=True)
class StatusTable:
    """Statuses and topics of connectors, from the records in the order of each partition."""

    statuses: dict[ConnectorKey | TaskKey, Status] = field(default_factory=dict)
    topics: dict[TopicKey, ActiveTopic] = field(default_factory=dict)

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """
        Applies the next record; keys of other kinds are ignored.

        Raises:
            SchemaError: the record is damaged; the one before it under its key stays.
        """
        if (decoded := decode_key(key)) is not None:
            decode = decode_topic if isinstance(decoded, TopicKey) else decode_status
            self.apply(decoded, None if value is None else decode(value))

    def apply(self, key: Key, entry: Entry | None) -> None:
        """Applies one change, as Connect does: late UNASSIGNED statuses of tasks are ignored."""
        if isinstance(entry, ActiveTopic):
            assert isinstance(key, TopicKey)  # noqa: S101 - see StatusChange
            self.topics[key] = entry
        elif isinstance(key, TopicKey):
            self.topics.pop(key, None)
        elif entry is None:
            self._remove(key)
        elif isinstance(key, ConnectorKey) or not self._is_late(key, entry):
            self.statuses[key] = entry

    def connectors(self) -> list[str]:
        """Names of all connectors, sorted."""
        return sorted(key.connector for key in self.statuses if isinstance(key, ConnectorKey))

    def tasks(self, connector: str) -> dict[int, Status]:
        """Statuses of a connector's tasks by their numbers, sorted."""
        found = {
            key.task: status
            for key, status in self.statuses.items()
            if isinstance(key, TaskKey) and key.connector == connector
        }
        return dict(sorted(found.items()))

    def topics_of(self, connector: str) -> list[str]:
        """The topics of a connector, sorted."""
        return sorted(key.topic for key in self.topics if key.connector == connector)

    def _remove(self, key: ConnectorKey | TaskKey) -> None:
        self.statuses.pop(key, None)
        if isinstance(key, ConnectorKey):
            # Connect removes a connector's tasks with it.
            for task in self.tasks(key.connector):
                del self.statuses[TaskKey(key.connector, task)]

    def _is_late(self, key: TaskKey, status: Status) -> bool:
        """
        Whether a worker gives a task up that another one has begun to run meanwhile.

        Connect also passes over a worker that gives up its own task in the same generation.
        """
        before = self.statuses.get(key)
        if before is None or status.state is not RunState.UNASSIGNED:
            return False
        is_others = before.worker_id != status.worker_id
        return before.state is RunState.RUNNING and (
            before.generation > status.generation
            or (before.generation == status.generation and is_others)
        )


def changes_to(
    table: StatusTable,
    statuses: Mapping[ConnectorKey | TaskKey, Status],
    topics: Mapping[TopicKey, ActiveTopic],
) -> list[StatusChange]:
    """
    What to write so that the table has these statuses; tombstones first.

    Entries of topics are only added: operators remove them (KIP-558). Entries of connectors other
    than MirrorMaker's are left alone.
    """
    before = table.statuses
    gone = [key for key in before if key not in statuses and key.connector in CONNECTORS]
    return [
        *((key, None) for key in gone),
        *((key, status) for key, status in statuses.items() if before.get(key) != status),
        *((key, found) for key, found in topics.items() if key not in table.topics),
    ]


def changes_without_worker(table: StatusTable, target: TargetState | None) -> list[StatusChange]:
    """
    What to write of connectors that no worker runs, as Connect does (``WorkerConnector``).

    Started connectors become UNASSIGNED until a worker runs them. Failed tasks keep their trace.
    A pause does not end FAILED, neither of tasks nor of connectors. Stopped connectors have no
    tasks. Of deleted connectors, whose target is None, nothing is left.
    """
    if target is None:
        return [(key, None) for key in (*table.statuses, *table.topics)]
    after = {key: _without_worker(key, each, target) for key, each in table.statuses.items()}
    return [(key, entry) for key, entry in after.items() if entry is not table.statuses[key]]


def _without_worker(
    key: ConnectorKey | TaskKey, status: Status, target: TargetState
) -> Status | None:
    is_task, has_failed = isinstance(key, TaskKey), status.state is RunState.FAILED
    match target:
        case TargetState.STARTED:
            return status if is_task and has_failed else _with(status, RunState.UNASSIGNED)
        case TargetState.PAUSED:
            return status if has_failed else _with(status, RunState.PAUSED)
        case TargetState.STOPPED:
            return None if is_task else _with(status, RunState.STOPPED)


def _with(status: Status, state: RunState) -> Status:
    return status if status.state is state else replace(status, state=state, trace=None)
