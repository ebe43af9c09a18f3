"""Asks leaders of partitions for offsets: where logs begin and end, and what is where in them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import structlog

from mm2.core.model import TopicName, TopicPartition
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.client_errors import UnknownTopic, from_code
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.topic_metadata import TopicMetadataClient
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.list_offsets import ListOffsetsRequest, OffsetFound

log = structlog.get_logger()

_WHAT: Final = "list offsets"

_NOBODY: Final = -1
"""The leader of a partition that has none."""

_SOON_S: Final = 5.0
"""How long those wait for a leader who can do without some of the answers."""


class LogEnds:
    """
    The offsets of a cluster's partitions.

    Leaders are asked for anew with each call, and again when they answer that they lead no more.
    What others have answered meanwhile stands: a log that nobody leads holds up itself only.
    """

    def __init__(
        self, link: ClusterClient, catalogue: TopicMetadataClient, timeout_s: float
    ) -> None:
        self._link = link
        self._catalogue = catalogue
        self._timeout_s = timeout_s

    async def offsets(
        self, partitions: Iterable[TopicPartition], at: int, *, read_committed: bool = False
    ) -> dict[TopicPartition, OffsetFound]:
        """
        An offset of each partition; partitions that do not exist are left out.

        Args:
            at: a time in milliseconds, or a constant of ``mm2.kafka.wire.requests.list_offsets``.
            read_committed: the end stands before the first open transaction.

        Raises:
            NotSupported: the cluster is older than what ``at`` asks for.
            ClusterError: not all leaders answer, or one refuses us.
        """
        call = _EndsCall(self._link, self._catalogue, partitions, at, read_committed=read_committed)
        await call.run(self._timeout_s)
        return call.found

    async def known_offsets(
        self, partitions: Iterable[TopicPartition], at: int
    ) -> dict[TopicPartition, OffsetFound]:
        """
        As ``offsets``, but leaves out partitions whose leaders do not answer soon.

        Raises:
            NotSupported: the cluster is older than what ``at`` asks for.
            ClusterError: no leader answers, or one refuses us.
        """
        call = _EndsCall(self._link, self._catalogue, partitions, at)
        try:
            await call.run(min(_SOON_S, self._timeout_s))
        except Unavailable as error:
            if not call.found:
                raise
            log.debug("offsets.unknown", cluster=self._link.alias, error=str(error))
        return call.found


class _EndsCall:
    def __init__(
        self,
        link: ClusterClient,
        catalogue: TopicMetadataClient,
        partitions: Iterable[TopicPartition],
        at: int,
        *,
        read_committed: bool = False,
    ) -> None:
        self.found: dict[TopicPartition, OffsetFound] = {}
        self._link = link
        self._catalogue = catalogue
        self._pending = set(partitions)
        self._at = at
        self._read_committed = read_committed

    async def run(self, within_s: float) -> None:
        """Asks until all that exist have an answer that will not be another one in a moment."""
        if self._pending:
            await self._link.retry(_WHAT, self._attempt, within_s=within_s)

    async def _attempt(self) -> None:
        topics = await self._catalogue.look({where.topic for where in self._pending})
        self._pending = {
            where
            for where in self._pending
            if where.topic in topics and where.partition in topics[where.topic].partitions
        }
        asked: dict[int, dict[str, list[int]]] = {}
        for topic, number in sorted(self._pending):
            leader = topics[topic].partitions[number].leader
            asked.setdefault(leader, {}).setdefault(topic, []).append(number)
        nobody = asked.pop(_NOBODY, {})
        answers = await asyncio.gather(*(self._ask(node, asked[node]) for node in asked))
        failures = [each for each in answers if each is not None]
        failures += [self._leaderless(topic, numbers) for topic, numbers in nobody.items()]
        # What will be another answer in a moment does not hide what will not.
        for failure in sorted(failures, key=_may_change):
            raise failure

    async def _ask(self, node: int, numbers: Mapping[str, Sequence[int]]) -> ClusterError | None:
        """Notes what a leader answers; returns why it does not, or not of all."""
        request = ListOffsetsRequest(numbers, self._at, read_committed=self._read_committed)
        try:
            answer = await self._link.send(node, _WHAT, request)
        except ClusterError as error:
            return error
        return min(self._take(answer.found), key=_may_change, default=None)

    def _take(self, found: Iterable[OffsetFound]) -> Iterator[ClusterError]:
        """Notes what is known; gives back why the rest is not."""
        for each in found:
            if each.error != Code.NONE:
                yield self._failure(each)
                continue
            where = TopicPartition(TopicName(each.topic), each.partition)
            self.found[where] = each
            self._pending.discard(where)

    def _failure(self, found: OffsetFound) -> ClusterError:
        what = f"{_WHAT} of {found.topic}-{found.partition}"
        failure = from_code(self._link.alias, found.error, what)
        if isinstance(failure, UnknownTopic):
            # It is among the metadata: the leader has yet to hear of it, or it was just deleted.
            return Unavailable(self._link.alias, str(failure))
        return failure

    def _leaderless(self, topic: str, numbers: Sequence[int]) -> ClusterError:
        return Unavailable(self._link.alias, f"{_WHAT}: {topic}-{numbers[0]} has no leader")


def _may_change(failure: ClusterError) -> bool:
    return isinstance(failure, Unavailable)
