"""The topics of the target that records are sent to by name."""

from __future__ import annotations

from typing import Final

import stamina

from flows.legacy.target_topics import TargetTopics
from flows.source.transform.message_handler import WrongRecords
from mm2.core.model import TopicName
from mm2.core.topics.own_topics import OwnTopics
from mm2.core.topics.topic_name import is_topic_name
from mm2.errors import Unavailable
from mm2.kafka.client_errors import Refused
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.wire_client import WireClient

_OWN_TOPICS: Final = OwnTopics()
_RETRY_MOST_S: Final = 2.0


class NamedTopics:
    """
    Tells how many partitions a topic of the target has; creates it, or lets it grow.

    Args:
        tracked: topics beside those of the stream's partitions; what is found is added.
    """

    def __init__(self, target: WireClient, topics: TargetTopics, tracked: set[str]) -> None:
        self._target = target
        self._topics = topics
        self._tracked = tracked

    async def __call__(self, name: TopicName, source: TopicName, at_least: int = 1) -> int:
        """
        The number of partitions; waits until the target answers and knows of ``at_least`` so many.

        A topic that is missing, or has fewer, gets as many as ``source`` has there.

        Raises:
            WrongRecords: no topic may have that name, or nobody but mm2, Connect and Kafka may
                write there. What is copied whole, under its name, may be such a topic.
            ClusterError: the target refuses to create it, or to let it grow.
        """
        if not is_topic_name(name):
            raise WrongRecords(f"no topic can have the name {name!r}")
        if name != source and _OWN_TOPICS.holds(name):
            raise WrongRecords(f"{name} is internal: a handler may send no records there")
        if self._target.partitions_of(name) < at_least:
            await self._prepare(name, source, at_least)
        self._tracked.add(name)
        return self._target.partitions_of(name)

    async def _prepare(self, name: TopicName, source: TopicName, at_least: int) -> None:
        async for attempt in stamina.retry_context(
            on=Unavailable, attempts=None, timeout=None, wait_max=_RETRY_MOST_S
        ):
            with attempt:
                await self._provide(name, source, at_least)

    async def _provide(self, name: TopicName, source: TopicName, at_least: int) -> None:
        try:
            await self._topics.provide_like(name, source, at_least)
        except Refused as error:
            if error.code == Code.INVALID_TOPIC_EXCEPTION.name:  # too similar to another one
                raise WrongRecords(str(error)) from error
            raise
        await self._target.track(self._target.tracked | {name})
        if self._target.partitions_of(name) < at_least:  # a broker that has not heard was asked
            raise Unavailable(self._target.alias, f"partitions of {name} are not known yet")
