"""Reports the heartbeats of a flow: their age, and over how many flows they came."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import structlog

from mm2.core.model import NO_OFFSET, SourceAndTarget, TopicName, TopicPartition
from mm2.core.policy import ReplicationPolicy
from mm2.core.topics.cycle_detection import heartbeat_topics, way_of
from mm2.errors import ClusterError
from mm2.kafka.admin import Admin
from mm2.kafka.writer import Writer
from mm2.protocol.heartbeat_progress import HeartbeatProgress, WayProgress, encode_heartbeats

log = structlog.get_logger()

EVERY_MS: Final = 10_000
_TOPICS_EVERY_MS: Final = 60_000
"""A list of all topics is not to be asked for more often: it may be long."""


class HeartbeatReport:
    """Reports from time to time, with the heartbeats of a flow."""

    def __init__(
        self,
        flow: SourceAndTarget,
        policy: ReplicationPolicy,
        target: Admin,
        topic: str,
        now_ms: Callable[[], int],
    ) -> None:
        self._flow = flow
        self._policy = policy
        self._target = target
        self._topic = topic
        self._now_ms = now_ms
        self._due_ms = 0
        self._topics: list[TopicName] = []
        self._topics_due_ms = 0

    async def after(self, last_ms: int, writer: Writer) -> None:
        """
        Reports, if the last report is some time ago; a failure is logged.

        ``last_ms`` is the time of the heartbeat that was written just now.
        """
        if last_ms < self._due_ms:
            return
        self._due_ms = last_ms + EVERY_MS
        try:
            key, value = encode_heartbeats(await self._progress(last_ms))
            await writer.send(self._topic, key, value, partition=0)
        except ClusterError as error:
            log.warning("heartbeat.not_reported", error=str(error))

    async def _progress(self, last_ms: int) -> HeartbeatProgress:
        if last_ms >= self._topics_due_ms:
            self._topics = await self._copied()
            self._topics_due_ms = last_ms + _TOPICS_EVERY_MS
        newest = await self._target.newest_timestamps(TopicPartition(t, 0) for t in self._topics)
        now_ms = self._now_ms()
        return HeartbeatProgress(
            time_ms=now_ms, last_ms=last_ms, ways=tuple(self._ways(newest, now_ms))
        )

    async def _copied(self) -> list[TopicName]:
        known = heartbeat_topics(self._policy, await self._target.list_topics())
        return sorted(t for t in known if self._policy.topic_source(t) == self._flow.source)

    def _ways(self, newest: Mapping[TopicPartition, int], now_ms: int) -> Iterable[WayProgress]:
        for topic in self._topics:
            way = way_of(self._policy, topic, self._flow.target)
            last_ms = newest.get(TopicPartition(topic, 0), NO_OFFSET)
            age_ms = NO_OFFSET if last_ms == NO_OFFSET else max(0, now_ms - last_ms)
            yield WayProgress(
                topic=topic, way=way, hops=len(way) - 1, last_ms=last_ms, age_ms=age_ms
            )
