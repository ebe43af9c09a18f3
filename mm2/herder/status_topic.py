"""
Keeps the status topic true, as Connect's workers do: written by whoever leads the flow.

On change only, and what others have left there when this node takes the lead. Tools that know
Connect's status topic read it, and Kafka's own MirrorMaker when it takes the flow over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

import structlog

from mm2.config.flow import FlowConfig
from mm2.core.connect_status import (
    ActiveTopic,
    ConnectorKey,
    RunState,
    Status,
    TaskKey,
    TopicKey,
    encode_status,
    encode_topic,
)
from mm2.core.model import CHECKPOINT_CONNECTOR, CONNECTORS, HEARTBEAT_CONNECTOR
from mm2.core.policy import build_policy
from mm2.errors import ClusterError
from mm2.herder.flow_standing import own_connectors
from mm2.herder.flow_states import ConnectorView, TaskView
from mm2.herder.flow_topics import now_ms
from mm2.herder.flow_view import FlowFollower
from mm2.kafka.writer import Writer

log = structlog.get_logger()

_LOOK_EVERY_S: Final = 1.0
_STEADY_MS: Final = 5_000
"""What has failed is said to have failed until it has run for so long again."""

_GIVE_UP_WITHIN_S: Final = 3.0
_ENDED: Final = (RunState.UNASSIGNED, RunState.STOPPED, RunState.PAUSED)

Heard: TypeAlias = Callable[[str | None], None]
"""Told that a part begins (None), or why it has failed."""

_Key: TypeAlias = ConnectorKey | TaskKey
_Written: TypeAlias = tuple[bytes, bytes | None]


@dataclass(frozen=True, slots=True)
class _Failure:
    """
    Why something does not run, or has not run a while ago.

    Attributes:
        reason: why.
        until_ms: when that is over; None as long as it does not run again.
    """

    reason: str
    until_ms: int | None = None


class StatusTopic:
    """
    Writes what the connectors of a flow do, while this node leads it.

    Args:
        config: the flow.
        owner: of this node's leases; under others' it writes nothing.
        worker_id: how Connect names this node (C480).
    """

    def __init__(self, config: FlowConfig, *, owner: str, worker_id: str) -> None:
        self._config = config
        self._owner = owner
        self._worker_id = worker_id
        self._follower = FlowFollower(config)
        self._failures: dict[_Key, _Failure] = {}

    def hear(self, key: ConnectorKey | TaskKey) -> Heard:
        """Who is to be told whenever a connector or task begins or fails."""
        return partial(self._hear, key)

    async def run(self) -> None:
        """
        Writes until cancelled; what cannot be written is tried again a second later.

        Raises:
            ClusterError: the target does not answer.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follower.run(), name="status-follower")
            await self._follower.until_ready()
            async with self._writer() as writer:
                while True:
                    await self._write(writer, self._changes())
                    await asyncio.sleep(_LOOK_EVERY_S)

    async def give_up(self) -> None:
        """
        Says that this node runs nothing any more; before it gives the lead to another one.

        Takes no longer than a few seconds: if the target is away, others see that by themselves.
        """
        try:
            async with asyncio.timeout(_GIVE_UP_WITHIN_S), self._writer() as writer:
                await self._write(writer, self._ends())
        except (TimeoutError, ClusterError) as error:
            log.warning("status.not_written", error=str(error))

    def _writer(self) -> Writer:
        return Writer(self._config.flow.target, self._config.herder.client("producer", "status"))

    async def _write(self, writer: Writer, records: Iterable[_Written]) -> None:
        try:
            for key, value in records:
                await writer.send(self._config.herder.status_topic, key, value)
        except ClusterError as error:
            log.warning("status.not_written", error=str(error))

    def _hear(self, key: _Key, reason: str | None) -> None:
        before = self._failures.get(key)
        if reason is not None:
            self._failures[key] = _Failure(reason)
        elif before is not None:
            self._failures[key] = replace(before, until_ms=now_ms() + _STEADY_MS)

    @property
    def _leads(self) -> bool:
        lease = self._follower.picture.lease
        return lease is not None and lease.owner == self._owner

    def _changes(self) -> list[_Written]:
        """What has to be written so that the topic is true."""
        if not self._leads:
            return []
        picture, now = self._follower.picture, now_ms()
        for key, failure in list(self._failures.items()):
            if failure.until_ms is not None and failure.until_ms <= now:
                del self._failures[key]
        picture.failures = {key: each.reason for key, each in self._failures.items()}
        wanted = dict(self._statuses(own_connectors(self._config, picture, now)))
        written = picture.statuses
        gone = [
            key for key in written.statuses if key not in wanted and key.connector in CONNECTORS
        ]
        return [
            *(encode_status(key, None) for key in gone),
            *(encode_status(k, s) for k, s in wanted.items() if written.statuses.get(k) != s),
            *(encode_topic(k, f) for k, f in self._topics() if k not in written.topics),
        ]

    def _topics(self) -> Iterator[tuple[TopicKey, ActiveTopic]]:
        """Topics that connectors write to."""
        picture = self._follower.picture
        yield from picture.used.items()
        policy = build_policy(self._config.heartbeat.properties)
        if beats := picture.heartbeats:
            found = ActiveTopic(task=0, discovered_ms=beats.time_ms)
            yield TopicKey(HEARTBEAT_CONNECTOR, policy.heartbeats_topic()), found
        if picture.checkpoints and picture.checkpoints.latencies:
            topic = policy.checkpoints_topic(self._config.flow.source)
            found = ActiveTopic(task=0, discovered_ms=picture.checkpoints.time_ms)
            yield TopicKey(CHECKPOINT_CONNECTOR, topic), found

    def _ends(self) -> list[_Written]:
        """What to write of all that this node was said to run."""
        if not self._leads:
            return []
        return [
            encode_status(key, replace(status, state=RunState.UNASSIGNED, trace=None))
            for key, status in self._follower.picture.statuses.statuses.items()
            if status.worker_id == self._worker_id and status.state not in _ENDED
        ]

    def _statuses(self, connectors: Iterable[ConnectorView]) -> Iterator[tuple[_Key, Status]]:
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
        )
