"""What a leader has to write to the status topic, so that it is true."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from mm2.config.flow_config import FlowConfig
from mm2.core.connect.status_records import (
    ActiveTopic,
    ConnectorKey,
    Status,
    TaskKey,
    TopicKey,
    encode_status,
    encode_topic,
)
from mm2.core.connect.status_table import StatusTable, statuses_on_worker_stop
from mm2.core.model import CHECKPOINT_CONNECTOR, CONNECTORS, HEARTBEAT_CONNECTOR
from mm2.core.policy import build_policy
from mm2.errors import ConfigError
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.herder.view.flow_views import ConnectorView, TaskView
from mm2.herder.view.view_builder import own_connectors

Key: TypeAlias = ConnectorKey | TaskKey
Written: TypeAlias = tuple[bytes, bytes | None]
"""Key and value of a record."""

_STEADY_MS: Final = 5_000
"""What has failed is said to have failed until it has run for so long again."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """
    Why something does not run, or has not run until a while ago.

    Attributes:
        reason: why.
        until_ms: when that is over; None as long as it does not run again.
    """

    reason: str
    until_ms: int | None = None


class StatusDiff:
    """
    Compares what a flow's connectors do with what the status topic says of them.

    Args:
        config: the flow, as this node's file has it now.
        owner: of this node's leases; under others' there is nothing to write.
        worker_id: how Connect names this node (C480).
        release: what is reported as the connectors' version.
    """

    def __init__(
        self, config: Callable[[], FlowConfig], *, owner: str, worker_id: str, release: str
    ) -> None:
        self._config = config
        self._owner = owner
        self._worker_id = worker_id
        self._release = release
        self._failures: dict[Key, _Failure] = {}

    def heard(self, key: Key, reason: str | None, now_ms: int) -> None:
        """
        Notes that a connector or task has failed, or begins.

        Args:
            key: which.
            reason: why it has failed; None if it begins.
            now_ms: the time.
        """
        before = self._failures.get(key)
        if reason is not None:
            self._failures[key] = _Failure(reason)
        elif before is not None:
            self._failures[key] = replace(before, until_ms=now_ms + _STEADY_MS)

    def changes(self, snapshot: FlowSnapshot, now_ms: int) -> list[Written]:
        """
        All that has to be written now, tombstones first.

        Args:
            snapshot: what the flow's topics say, the status topic among them.
            now_ms: the time.
        """
        if not self._leads(snapshot):
            return []
        snapshot.failures = self._standing(now_ms)
        wanted = dict(self._statuses(own_connectors(self._config(), snapshot, now_ms)))
        table = snapshot.statuses
        gone = [k for k in table.statuses if k not in wanted and k.connector in CONNECTORS]
        return [
            *(encode_status(key, None) for key in gone),
            *(encode_status(k, s) for k, s in wanted.items() if table.statuses.get(k) != s),
            *(encode_topic(k, found) for k, found in self._used(snapshot) if k not in table.topics),
        ]

    def ends(self, snapshot: FlowSnapshot) -> list[Written]:
        """What to write when this node gives the flow up, which then nobody runs."""
        if not self._leads(snapshot):
            return []
        return list(statuses_on_worker_stop(own_words(snapshot)))

    def _leads(self, snapshot: FlowSnapshot) -> bool:
        lease = snapshot.lease
        return lease is not None and lease.owner == self._owner

    def _standing(self, now_ms: int) -> dict[Key, str]:
        """The failures that still count; the others are forgotten."""
        self._failures = {
            key: failure
            for key, failure in self._failures.items()
            if failure.until_ms is None or failure.until_ms > now_ms
        }
        return {key: failure.reason for key, failure in self._failures.items()}

    def _used(self, snapshot: FlowSnapshot) -> Iterator[tuple[TopicKey, ActiveTopic]]:
        """Topics that connectors write to."""
        yield from snapshot.used.items()
        config = snapshot.altered(self._config())
        try:
            policy = build_policy(config.source.properties)
        except ConfigError:
            return  # nothing of the flow runs then, and its connectors say why
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


def own_words(snapshot: FlowSnapshot) -> StatusTable:
    """What the status topic says of the flow's connectors, by its last leader or earlier ones."""
    epoch = snapshot.lease.epoch if snapshot.lease else 0
    return StatusTable(
        {
            key: status
            for key, status in snapshot.statuses.statuses.items()
            if key.connector in CONNECTORS and status.generation <= epoch
        }
    )
