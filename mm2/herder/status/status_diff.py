"""Compares the states of a flow's connectors with the entries of the status topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from mm2.config.flow_config import FlowConfig
from mm2.core.connect.config_records import TargetState
from mm2.core.connect.status_records import (
    ActiveTopic,
    ConnectorKey,
    Status,
    StatusChange,
    TaskKey,
    TopicKey,
)
from mm2.core.connect.status_table import StatusTable, changes_to, changes_without_worker
from mm2.core.model import CHECKPOINT_CONNECTOR, CONNECTORS, HEARTBEAT_CONNECTOR
from mm2.core.policy import build_policy
from mm2.errors import ConfigError
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.herder.view.flow_views import ConnectorView, TaskView
from mm2.herder.view.view_builder import own_connectors

Key: TypeAlias = ConnectorKey | TaskKey

_STEADY_MS: Final = 5_000
"""FAILED ends when the connector or task has run for so long again."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """
    A failure of a connector or task.

    Attributes:
        until_ms: when FAILED ends; None until it runs again.
    """

    reason: str
    until_ms: int | None = None


class StatusDiff:
    """
    Compares the states of a flow's connectors with the entries of the status topic.

    Args:
        owner: of this node's leases; while another node leads there is nothing to write.
        worker_id: of this node in status entries (C480).
        release: the version in status entries.
    """

    def __init__(
        self, config: Callable[[], FlowConfig], *, owner: str, worker_id: str, release: str
    ) -> None:
        self._config = config
        self._owner = owner
        self._worker_id = worker_id
        self._release = release
        self._failures: dict[Key, _Failure] = {}

    def note_failure(self, key: Key, reason: str | None, now_ms: int) -> None:
        """Notes why a connector or task has failed; None: it starts."""
        before = self._failures.get(key)
        if reason is not None:
            self._failures[key] = _Failure(reason)
        elif before is not None:
            self._failures[key] = replace(before, until_ms=now_ms + _STEADY_MS)

    def changes(self, snapshot: FlowSnapshot, now_ms: int) -> list[StatusChange]:
        """All that has to be written now, tombstones first."""
        if not self._leads(snapshot):
            return []
        connectors = own_connectors(self._config(), snapshot, now_ms, self.failures(now_ms))
        statuses, topics = dict(self._statuses(connectors)), dict(self._topics(snapshot))
        return changes_to(snapshot.statuses, statuses, topics)

    def final_changes(
        self, snapshot: FlowSnapshot, target: TargetState | None
    ) -> list[StatusChange]:
        """What to write when this node stops to lead the flow and no other one leads it yet."""
        if target is not TargetState.STARTED:
            return changes_without_worker(snapshot.statuses, target)
        if not self._leads(snapshot):
            return []
        return changes_without_worker(entries_of_leader(snapshot), target)

    def _leads(self, snapshot: FlowSnapshot) -> bool:
        lease = snapshot.lease
        return lease is not None and lease.owner == self._owner

    def failures(self, now_ms: int) -> dict[Key, str]:
        """Why connectors and tasks do not run, or have not run for long again."""
        self._failures = {
            key: failure
            for key, failure in self._failures.items()
            if failure.until_ms is None or failure.until_ms > now_ms
        }
        return {key: failure.reason for key, failure in self._failures.items()}

    def _topics(self, snapshot: FlowSnapshot) -> Iterator[tuple[TopicKey, ActiveTopic]]:
        yield from snapshot.active_topics.items()
        config = snapshot.altered(self._config())
        try:
            policy = build_policy(config.source.properties)
        except ConfigError:
            return  # the flow does not run then, and its connectors have this as their trace
        if beats := snapshot.heartbeats:
            found = ActiveTopic(task=0, discovered_ms=beats.time_ms)
            yield TopicKey(HEARTBEAT_CONNECTOR, policy.heartbeats_topic()), found
        if snapshot.checkpoints and snapshot.checkpoints.latencies:
            topic = policy.checkpoints_topic(config.flow.source)
            found = ActiveTopic(task=0, discovered_ms=snapshot.checkpoints.time_ms)
            yield TopicKey(CHECKPOINT_CONNECTOR, topic), found

    def _statuses(self, connectors: Iterable[ConnectorView]) -> Iterator[tuple[Key, Status]]:
        for connector in connectors:
            yield ConnectorKey(connector.name), self._status(connector)
            for task in connector.tasks:
                yield TaskKey(connector.name, task.task), self._status(task)

    def _status(self, view: ConnectorView | TaskView) -> Status:
        return Status(
            state=view.state,
            worker_id=self._worker_id,
            generation=view.generation,
            trace=view.trace,
            version=self._release,
        )


def entries_of_leader(snapshot: FlowSnapshot) -> StatusTable:
    """The statuses of the flow's connectors by its last leader and earlier ones."""
    epoch = snapshot.lease.epoch if snapshot.lease else 0
    return StatusTable(
        {
            key: status
            for key, status in snapshot.statuses.statuses.items()
            if key.connector in CONNECTORS and status.generation <= epoch
        }
    )
