"""Where the offsets of the group are kept: in Kafka, in ZooKeeper, or for a while in both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Protocol

import structlog

from mm2.core.model import TopicPartition
from mm2.errors import Unavailable

log = structlog.get_logger()


class OffsetsUnknown(Unavailable):
    """
    A store that may have offsets of some partitions does not answer.

    Attributes:
        known: the offsets of the others.
        unknown: these partitions.
    """

    def __init__(
        self,
        reason: Unavailable,
        known: Mapping[TopicPartition, int],
        unknown: frozenset[TopicPartition],
    ) -> None:
        super().__init__(reason.alias, f"offsets of {len(unknown)} partitions are not told")
        self.known = known
        self.unknown = unknown


class OffsetStore(Protocol):
    """Keeps the offsets of a group."""

    async def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """
        The group's offsets; partitions without one are left out.

        Raises:
            ClusterError: they cannot be read.
        """

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        """
        Keeps the next offset to read of each partition; returns those that are kept.

        Raises:
            ClusterError: not all of them are.
        """


class CountedStore:
    """
    A store with a meter of what is committed there, as KAFKA-1012 has one for each.

    Attributes:
        commits: offsets that were committed.
    """

    def __init__(self, store: OffsetStore) -> None:
        self._store = store
        self.commits = 0

    async def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """As in ``OffsetStore``."""
        return await self._store.committed(partitions)

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        """As in ``OffsetStore``."""
        done = await self._store.commit(offsets)
        self.commits += len(done)
        return done


class BothStores:
    """
    ``dual.commit.enabled``: commits go to both, and of two offsets the greater one counts.

    Args:
        one: Kafka's.
        other: ZooKeeper's. While it does not answer, offsets of the first count alone.
    """

    def __init__(self, one: OffsetStore, other: OffsetStore) -> None:
        self._one = one
        self._other = other

    async def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """
        As in ``OffsetStore``.

        Raises:
            OffsetsUnknown: the other does not answer, and one has none of some partitions.
            ClusterError: they cannot be read.
        """
        wanted = list(partitions)
        found, others = await asyncio.gather(self._one.committed(wanted), self._others(wanted))
        if isinstance(others, Unavailable):
            if found:
                log.warning(
                    "stream.offsets_of_kafka_alone", partitions=len(found), error=str(others)
                )
            if unknown := frozenset(wanted) - found.keys():
                raise OffsetsUnknown(others, found, unknown) from others
            return found
        for where, offset in others.items():
            found[where] = max(offset, found.get(where, offset))
        return found

    async def _others(
        self, wanted: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, int] | Unavailable:
        try:
            return await self._other.committed(wanted)
        except Unavailable as error:
            return error

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        """As in ``OffsetStore``; one of them does not wait for the other, nor for its failure."""
        done = await asyncio.gather(
            self._one.commit(offsets), self._other.commit(offsets), return_exceptions=True
        )
        both = set(offsets)
        for each in done:
            if isinstance(each, BaseException):
                raise each
            both &= each
        return both
