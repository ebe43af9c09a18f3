"""
Topics of the target, which have at least as many partitions as those of the source.

The stream that owns partition 0 creates a topic, and the others wait for it (KIP-3). Where nobody
does, because the owner is another program or has gone, the next one that waits creates it: a topic
that is there already is no failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from typing import Final

import structlog

from mm2.core.model import TopicName, TopicPartition
from mm2.core.topics.topic_plan import CreateTopic, GrowTopic
from mm2.errors import Unavailable
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import Refused, TopicExists
from mm2.kafka.wire.error_codes import Code

log = structlog.get_logger()

_OTHERS_CREATE_S: Final = 5.0
_LOOK_S: Final = 0.1
_MOST_LOOK_S: Final = 1.0
_BROKERS_DEFAULT: Final = -1


class TargetTopics:
    """Has the target's topics be ready before a first record is sent to them."""

    def __init__(self, source: Admin, target: Admin) -> None:
        self._source = source
        self._target = target

    async def prepare(self, partitions: Collection[TopicPartition]) -> None:
        """
        Waits until the target has all these partitions, and creates what it misses.

        Raises:
            ClusterError: the target refuses to create a topic, or to let it grow.
        """
        names = {where.topic for where in partitions}
        owned = {where.topic for where in partitions if where.partition == 0}
        counts = await self._counts(self._source, names)
        wanted = {name: count for name, count in counts.items() if count}
        waited_s, look_s = 0.0, _LOOK_S
        while missing := await self._missing(wanted):
            ours = [name for name in missing if name in owned or waited_s >= _OTHERS_CREATE_S]
            await self._provide({name: wanted[name] for name in ours}, missing)
            await asyncio.sleep(look_s)
            waited_s, look_s = waited_s + look_s, min(2 * look_s, _MOST_LOOK_S)

    async def create(self, name: str) -> None:
        """
        Creates a topic of the brokers' number of partitions, if it is missing.

        Raises:
            ClusterError: the target refuses.
        """
        topic = TopicName(name)
        if not (await self._counts(self._target, {topic})).get(topic):
            await self._provide({topic: _BROKERS_DEFAULT}, {topic: 0})

    async def provide_like(self, name: TopicName, source: TopicName, at_least: int) -> None:
        """
        Waits until a topic has so many partitions; creates it, or lets it grow, as ``source`` has.

        Raises:
            ClusterError: the target refuses.
        """
        count = (await self._counts(self._source, {source})).get(source, _BROKERS_DEFAULT)
        while (there := (await self._counts(self._target, {name})).get(name, 0)) < at_least:
            await self._provide({name: max(count, at_least) if there else count}, {name: there})
            await asyncio.sleep(_LOOK_S)

    async def _missing(self, wanted: dict[TopicName, int]) -> dict[TopicName, int]:
        """Topics that have too few partitions, with the number that they have."""
        there = await self._counts(self._target, wanted)
        return {name: there.get(name, 0) for name in wanted if there.get(name, 0) < wanted[name]}

    @staticmethod
    async def _counts(cluster: Admin, names: Iterable[TopicName]) -> dict[TopicName, int]:
        found = await cluster.describe_topics(names)
        return {name: topic.partitions for name, topic in found.items()}

    async def _provide(self, wanted: dict[TopicName, int], there: dict[TopicName, int]) -> None:
        create = [
            CreateTopic(name=name, partitions=count, replication_factor=_BROKERS_DEFAULT)
            for name, count in wanted.items()
            if not there[name]
        ]
        grow = [
            GrowTopic(name=name, partitions=count) for name, count in wanted.items() if there[name]
        ]
        failures = await self._target.create_topics(create) if create else {}
        for topic in create:
            failure = failures.get(topic.name)
            if failure is None:
                log.info("stream.topic_created", topic=topic.name, partitions=topic.partitions)
            elif not isinstance(failure, TopicExists | Unavailable):
                raise failure
        for name, failure in (await self._target.create_partitions(grow) if grow else {}).items():
            # Another stream may have been faster; whether it was is looked at next.
            code = failure.code if isinstance(failure, Refused) else None
            if code != Code.INVALID_PARTITIONS.name and not isinstance(failure, Unavailable):
                raise failure
            log.debug("stream.topic_not_grown", topic=name, error=str(failure))
