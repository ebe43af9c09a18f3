"""
Asks the leaders of partitions for offsets: where logs begin and end, and what is where in them.

These questions go through our own protocol classes and not through librdkafka, whose 2.16 passes
over a leader that does not answer: it gives back -1001 for its partitions, as if that were offsets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from confluent_kafka import KafkaError

from mm2.core.model import TopicName, TopicPartition
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.catalogue import Catalogue
from mm2.kafka.errors import UnknownTopic, from_librdkafka
from mm2.kafka.link import Link
from mm2.kafka.wire.list_offsets import ListOffsetsRequest, OffsetFound
from mm2.kafka.wire.metadata import TopicMetadata

_WHAT: Final = "list offsets"


class LogEnds:
    """
    The offsets of a cluster's partitions.

    Leaders are asked for anew with each call, and again when they answer that they lead no more.

    Args:
        link: to the cluster.
        catalogue: of its topics.
        timeout_s: of each call.
    """

    def __init__(self, link: Link, catalogue: Catalogue, timeout_s: float) -> None:
        self._link = link
        self._catalogue = catalogue
        self._timeout_s = timeout_s

    async def offsets(
        self, partitions: Iterable[TopicPartition], at: int, *, read_committed: bool
    ) -> dict[TopicPartition, OffsetFound]:
        """
        An offset of each partition; partitions that do not exist are left out.

        Args:
            partitions: whose.
            at: a time in milliseconds, or a constant of ``mm2.kafka.wire.list_offsets``.
            read_committed: the end stands before the first open transaction.

        Raises:
            NotSupported: the cluster is older than what ``at`` asks for.
            ClusterError: not all leaders answer, or one refuses us.
        """
        asked = frozenset(partitions)

        async def attempt() -> dict[TopicPartition, OffsetFound]:
            topics = await self._catalogue.look({where.topic for where in asked})
            requests = [
                self._link.send(
                    node,
                    _WHAT,
                    ListOffsetsRequest(numbers, at, read_committed=read_committed),
                )
                for node, numbers in self._by_leader(topics, asked).items()
            ]
            answers = await asyncio.gather(*requests)
            return dict(self._read(answers))

        if not asked:
            return {}
        return await self._link.insist(_WHAT, attempt, within_s=self._timeout_s)

    def _by_leader(
        self, topics: Mapping[TopicName, TopicMetadata], asked: Iterable[TopicPartition]
    ) -> dict[int, dict[str, list[int]]]:
        found: dict[int, dict[str, list[int]]] = {}
        for topic, number in sorted(asked):
            known = topics[topic].partitions.get(number) if topic in topics else None
            if known is None:
                continue
            if known.leader < 0:
                raise Unavailable(self._link.alias, f"{_WHAT}: {topic}-{number} has no leader")
            found.setdefault(known.leader, {}).setdefault(topic, []).append(number)
        return found

    def _read(self, answers: Iterable[Any]) -> Iterator[tuple[TopicPartition, OffsetFound]]:
        for answer in answers:
            for each in answer.found:
                if each.error != KafkaError.NO_ERROR:
                    raise self._failure(each)
                yield TopicPartition(TopicName(each.topic), each.partition), each

    def _failure(self, found: OffsetFound) -> ClusterError:
        what = f"{_WHAT} of {found.topic}-{found.partition}"
        failure = from_librdkafka(self._link.alias, KafkaError(found.error), what)
        if isinstance(failure, UnknownTopic):
            # It is among the metadata: the leader has yet to hear of it, or it was just deleted.
            return Unavailable(self._link.alias, str(failure))
        return failure
