"""Changes positions of a flow that nobody runs, for an operator (KIP-875)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mm2.config.flow_config import FlowConfig
from mm2.core.model import TopicName, TopicPartition
from mm2.core.positions.offset_requests import (
    RequestedOffset,
    check_against_source,
    moved_position,
    parse_request,
)
from mm2.errors import ConfigError, ConfigErrors
from mm2.herder.election.liveness import why_offsets_are_locked
from mm2.herder.offsets.position_store import FlowPositions
from mm2.herder.topics.internal_topics import create_internal_topics
from mm2.kafka.flow_clusters import FlowClusters, admin_clients, check_reachable


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetChange:
    """Where to, and the number that belongs to it: an offset, a distance, or a time in ms."""

    target: RequestedOffset
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """
    One position that is to change.

    Attributes:
        where: the source partition; None if ``partition`` is none.
        partition: what the request names, whatever it is (C204).
        before: the position now; None if there is none.
        after: the position then; None deletes it.
    """

    where: TopicPartition | None
    partition: object = None
    before: int | None = None
    after: int | None = None


class OffsetChanges:
    """
    Plans and makes changes; made by ``of``.

    Calls raise ``ClusterError`` if a cluster does not answer, or refuses.
    """

    def __init__(self, config: FlowConfig, clusters: FlowClusters) -> None:
        self._config = config
        self._clusters = clusters
        self._positions = FlowPositions(config, clusters)

    @classmethod
    @asynccontextmanager
    async def of(cls, config: FlowConfig) -> AsyncIterator[OffsetChanges]:
        """
        Opens the clients that are needed; the target must answer soon.

        Raises:
            Unavailable: it does not.
        """
        async with admin_clients(config) as clusters:
            await check_reachable(clusters.target)
            yield cls(config, clusters)

    async def stored(self) -> dict[TopicPartition, int]:
        """The positions of the flow; none if it has never run."""
        known = await self._clusters.target.list_topics()
        if self._config.herder.offsets_topic not in known:
            return {}
        return await self._positions.load()

    async def from_request(self, document: object) -> list[Change]:
        """
        What a request of Connect's REST interface asks for.

        Raises:
            ConfigErrors: it is wrong, or the source has no such partitions and offsets.
        """
        requests = parse_request(document, self._config.flow.source)
        wanted = {r.where: r.offset for r in requests if r.where and r.offset is not None}
        if wanted:
            await check_reachable(self._clusters.source)
            _raise(check_against_source(wanted, await self._positions.ranges(list(wanted))))
        stored = await self.stored()
        return [
            Change(
                where=request.where,
                partition=request.partition,
                before=stored.get(request.where) if request.where else None,
                after=request.offset,
            )
            for request in requests
        ]

    async def moved(
        self, topics: Mapping[str, Collection[int]] | None, move: OffsetChange
    ) -> list[Change]:
        """
        What moving partitions means.

        Args:
            topics: with the partitions that are meant, none for all of them; None for all topics.

        Raises:
            ConfigErrors: the source has no such topics, partitions or offsets.
        """
        await check_reachable(self._clusters.source)
        stored = await self.stored()
        partitions = await self._partitions(topics, stored)
        ranges = await self._positions.ranges(partitions)
        _raise(check_against_source(dict.fromkeys(set(partitions) - ranges.keys(), 0), ranges))
        numbers = dict.fromkeys(partitions, move.number)
        if move.target is RequestedOffset.TIME:
            numbers = await self._positions.at_time(partitions, move.number)
        moved = {
            where: moved_position(
                move.target, number=numbers[where], stored=stored.get(where), log=ranges[where]
            )
            for where in partitions
        }
        _raise(check_against_source(moved, ranges))
        return [
            Change(where=where, before=stored.get(where), after=after)
            for where, after in moved.items()
        ]

    async def deleted(self, topics: Mapping[str, Collection[int]] | None) -> list[Change]:
        """
        What deleting positions means.

        Args:
            topics: with the partitions that are meant, none for all of them; None for all topics.
        """
        stored = await self.stored()
        return [
            Change(where=where, before=before)
            for where, before in sorted(stored.items())
            if topics is None
            or (where.topic in topics and _is_selected(topics[where.topic], where))
        ]

    async def check_stopped(self) -> None:
        """
        Refuses to go on while somebody runs the flow.

        Raises:
            ConfigErrors: somebody does.
        """
        if reason := await why_offsets_are_locked(self._config, self._clusters.target):
            message = f"flow {self._config.flow}: {reason}. Stop it before its positions change."
            raise ConfigErrors([ConfigError(message)])

    async def execute(self, changes: Collection[Change]) -> None:
        """
        Makes the changes; safe to repeat after a failure.

        Raises:
            ClusterError: the target does not take all of them.
        """
        policy = self._positions.policy
        await create_internal_topics(self._config, policy, self._clusters, on_source=False)
        await self._positions.apply({c.where: c.after for c in changes if c.where})
        strangers = [change.partition for change in changes if change.where is None]
        await self._positions.store.delete(await self._positions.store.keys_of(strangers))

    async def _partitions(
        self, topics: Mapping[str, Collection[int]] | None, stored: Collection[TopicPartition]
    ) -> list[TopicPartition]:
        """The partitions that are meant; those that are named may not exist."""
        if topics is None:
            known = await self._positions.mirrored_topics()
            return await self._positions.partitions_of({*known, *(w.topic for w in stored)})
        found = await self._positions.partitions_of(topics)
        missing = topics.keys() - {where.topic for where in found}
        _raise([ConfigError(f"the source has no topic {name}") for name in sorted(missing)])
        named = {TopicPartition(TopicName(t), n) for t, numbers in topics.items() for n in numbers}
        return sorted(named.union(where for where in found if not topics[where.topic]))


def _raise(problems: list[ConfigError]) -> None:
    if problems:
        raise ConfigErrors(problems)


def _is_selected(numbers: Collection[int], where: TopicPartition) -> bool:
    return not numbers or where.partition in numbers
