"""The contents of Connect's status topic, and what to write of connectors that no worker runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from mm2.core.connect.config_records import TargetState
from mm2.core.connect.status_records import (
    ActiveTopic,
    ConnectorKey,
    RunState,
    Status,
    TaskKey,
    TopicKey,
    decode_key,
    decode_status,
    decode_topic,
    encode_status,
    encode_topic,
)

_IS_NO_PAUSE: Final = (RunState.FAILED, RunState.PAUSED)


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
        about = decode_key(key)
        if isinstance(about, TopicKey):
            self._take_topic(about, value)
        elif about is not None:
            self._take_status(about, value)

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

    def _take_topic(self, key: TopicKey, value: bytes | None) -> None:
        if value is None:
            self.topics.pop(key, None)
        else:
            self.topics[key] = decode_topic(value)

    def _take_status(self, key: ConnectorKey | TaskKey, value: bytes | None) -> None:
        if value is not None:
            status = decode_status(value)
            if not (isinstance(key, TaskKey) and self._is_late(key, status)):
                self.statuses[key] = status
            return
        self.statuses.pop(key, None)
        if isinstance(key, ConnectorKey):
            # Connect takes a connector's tasks for gone with it.
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


def statuses_on_worker_stop(said: StatusTable) -> Iterator[tuple[bytes, bytes | None]]:
    """
    Keys and values that a worker writes when it ends, as Connect's do (``WorkerConnector``).

    All become UNASSIGNED, but tasks that have failed keep their trace.

    Args:
        said: the statuses of connectors that no other worker runs.
    """
    for key, status in said.statuses.items():
        has_failed = isinstance(key, TaskKey) and status.state is RunState.FAILED
        if status.state is not RunState.UNASSIGNED and not has_failed:
            yield encode_status(key, replace(status, state=RunState.UNASSIGNED, trace=None))


def statuses_when_idle(
    said: StatusTable, wanted: TargetState | None
) -> Iterator[tuple[bytes, bytes | None]]:
    """
    Keys and values to write of a connector that no worker runs, and none is to run.

    FAILED does not become PAUSED: as in Connect it stays until the connector is started or stopped.

    Args:
        said: the present statuses.
        wanted: the target state, not STARTED; None if the connector was deleted.
    """
    state = RunState.STOPPED if wanted is None else RunState[wanted.name]
    for key, status in said.statuses.items():
        if wanted is None or (state is RunState.STOPPED and isinstance(key, TaskKey)):
            yield encode_status(key, None)
        elif status.state is not state and (status.state, state) != _IS_NO_PAUSE:
            yield encode_status(key, replace(status, state=state, trace=None))
    if wanted is None:
        yield from (encode_topic(key, None) for key in said.topics)
