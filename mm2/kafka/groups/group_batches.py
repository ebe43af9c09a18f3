"""
Asks about many groups with a request for each coordinator and batch, not one for each group.

Two thousand groups of fifty partitions are answered in seconds, where single questions take several
times as long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import Any, Final, Generic, TypeVar

from mm2.errors import ClusterError, Unavailable
from mm2.kafka.chunks import chunks
from mm2.kafka.client_errors import NotSupported
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.groups.coordinator_answers import coordinators
from mm2.kafka.wire.requests.find_coordinators import FindCoordinatorsRequest

T = TypeVar("T")

_GROUPS_PER_LOOKUP: Final = 500
_GROUPS_PER_REQUEST: Final = 50
"""An answer is read in one go, and nothing else is done meanwhile: so it must not be too long."""

_AT_ONCE: Final = 4
_PAUSE_LEAST_S: Final = 0.05
_PAUSE_MOST_S: Final = 2.0


class GroupBatches:
    """
    Makes calls about many groups.

    Args:
        timeout_s: of each call; groups that are not answered by then are ``Unavailable``.
    """

    def __init__(self, link: ClusterClient, timeout_s: float) -> None:
        self._link = link
        self._timeout_s = timeout_s

    async def ask(
        self,
        group_ids: Iterable[str],
        what: str,
        request: Callable[[Sequence[str]], object],
        read: Callable[[Any], Iterator[tuple[str, T | ClusterError]]],
    ) -> dict[str, T | ClusterError]:
        """
        What the coordinators say of each group, or why one does not.

        Returns:
            By group; ``NotSupported`` where the coordinator is too old for such a request.
        """
        call = _BatchCall(self._link, what, request, read, group_ids)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timeout_s):
                await call.run()
        if call.pending:
            self._link.suspect()
        return call.answers()


class _BatchCall(Generic[T]):
    def __init__(
        self,
        link: ClusterClient,
        what: str,
        request: Callable[[Sequence[str]], object],
        read: Callable[[Any], Iterator[tuple[str, T | ClusterError]]],
        group_ids: Iterable[str],
    ) -> None:
        self.pending = set(group_ids)
        self._link = link
        self._what = what
        self._request = request
        self._read = read
        self._found: dict[str, T | ClusterError] = {}
        self._failure = Unavailable(link.alias, f"{what}: no answer in time")
        self._slots = asyncio.Semaphore(_AT_ONCE)

    def answers(self) -> dict[str, T | ClusterError]:
        """What is known of each group."""
        return self._found | dict.fromkeys(self.pending, self._failure)

    async def run(self) -> None:
        """Asks until all groups have an answer that will not be another one in a moment."""
        pause_s = _PAUSE_LEAST_S
        while self.pending:
            await self._find_coordinators()
            async with asyncio.TaskGroup() as tasks:
                for node, group_ids in self._batches():
                    tasks.create_task(self._ask(node, group_ids), name=self._what)
            if self.pending:
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _PAUSE_MOST_S)

    async def _find_coordinators(self) -> None:
        unknown = sorted(self.pending - self._link.nodes.keys())
        for group_ids in chunks(unknown, _GROUPS_PER_LOOKUP):
            request = FindCoordinatorsRequest(group_ids)
            read = partial(coordinators, self._link.alias)
            for group_id, node in await self._send(None, group_ids, request, read):
                if isinstance(node, NotSupported):
                    await self._find_coordinator(group_id)
                elif isinstance(node, ClusterError):
                    self._note(group_id, node)
                else:
                    self._link.nodes[group_id] = node

    async def _find_coordinator(self, group_id: str) -> None:
        """As brokers before 3.0 have it: one group at a time."""
        try:
            await self._link.coordinator(self._what, group_id)
        except ClusterError as error:
            self._note(group_id, error)

    def _batches(self) -> Iterator[tuple[int, list[str]]]:
        nodes = self._link.nodes
        known = sorted(self.pending & nodes.keys(), key=lambda each: (nodes[each], each))
        for node, group_ids in groupby(known, key=nodes.__getitem__):
            for batch in chunks(list(group_ids), _GROUPS_PER_REQUEST):
                yield node, batch

    async def _ask(self, node: int, group_ids: Sequence[str]) -> None:
        async with self._slots:
            for group_id, answer in await self._send(
                node, group_ids, self._request(group_ids), self._read
            ):
                self._note(group_id, answer)

    async def _send(
        self,
        node: int | None,
        group_ids: Sequence[str],
        request: object,
        read: Callable[[Any], Iterator[tuple[str, Any]]],
    ) -> list[tuple[str, Any]]:
        """What is answered of each of these groups; if nothing is, the reason."""
        try:
            return list(read(await self._link.send(node, self._what, request)))
        except ClusterError as error:
            return [(group_id, error) for group_id in group_ids]

    def _note(self, group_id: str, answer: T | ClusterError) -> None:
        if isinstance(answer, Unavailable):
            # The coordinator may have moved.
            self._failure = answer
            self._link.nodes.pop(group_id, None)
        else:
            self._found[group_id] = answer
            self.pending.discard(group_id)
