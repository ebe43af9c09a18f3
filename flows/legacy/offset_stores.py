"""Where the offsets of the group are kept: in Kafka, in ZooKeeper, or for a while in both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Protocol

from mm2.core.model import TopicPartition


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
    """``dual.commit.enabled``: commits go to both, and of two offsets the greater one counts."""

    def __init__(self, one: OffsetStore, other: OffsetStore) -> None:
        self._one = one
        self._other = other

    async def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """As in ``OffsetStore``."""
        wanted = list(partitions)
        found = await self._one.committed(wanted)
        for where, offset in (await self._other.committed(wanted)).items():
            found[where] = max(offset, found.get(where, offset))
        return found

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
