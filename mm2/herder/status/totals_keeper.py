"""Stores what was copied in the control topic, so that counts go on under the next leader."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterator
from typing import Final

import structlog

from mm2.aligned_waits import aligned
from mm2.clock import now_ms
from mm2.core.copy_totals import CopyTotal, Counts
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.errors import ClusterError
from mm2.herder.election.leadership_term import LeadershipTerm
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.protocol.copied_records import by_record, encode_copied
from mm2.stop_deadlines import STATUS_S

log = structlog.get_logger()

_EVERY_S: Final = 30.0
"""Less than followers look back in the progress topic, which has what came since."""

_FORGOTTEN_MS: Final = 7 * 24 * 3_600_000
"""Partitions that no task has had for so long are not stored any more."""


class TotalsKeeper:
    """
    Stores totals of partitions, those that changed.

    Args:
        term: of the leader; in doubt nothing is written.
    """

    def __init__(self, topic: str, term: LeadershipTerm, snapshot: FlowSnapshot) -> None:
        self._topic = topic
        self._term = term
        self._snapshot = snapshot
        self._stored: dict[TopicPartition, object] = {}
        self._has_begun = False

    async def run(self) -> None:
        """Stores until cancelled; begins when the snapshot has what earlier leaders have stored."""
        self._has_begun = True
        while True:
            await asyncio.sleep(aligned(_EVERY_S))
            await self.store()

    async def end(self) -> None:
        """Stores for the last time; takes some seconds at most."""
        if self._has_begun:
            try:
                async with asyncio.timeout(STATUS_S):
                    await self.store()
            except TimeoutError as error:
                log.warning("totals.not_stored", error=str(error))

    async def store(self) -> None:
        """Writes what changed; what cannot be written is tried again the next time."""
        totals = self._snapshot.totals
        changed = [each for each in totals if _state(totals[each]) != self._stored.get(each)]
        if not changed or self._term.is_suspended:
            return
        records = list(self._records(dict(by_record(changed))))
        try:
            await self._term.writer.send_all(self._topic, records, partition=0)
        except ClusterError as error:
            log.warning("totals.not_stored", error=str(error))
            return
        self._stored |= {each: _state(totals[each]) for each in changed if each in totals}

    def _records(self, changed: Container[bytes]) -> Iterator[tuple[bytes, bytes | None]]:
        """Whole records, without partitions that are gone for long."""
        totals, since_ms = self._snapshot.totals, now_ms() - _FORGOTTEN_MS
        assigned = {source for each in self._snapshot.assigned() for source in each.partitions}
        for key, sources in by_record(totals):
            if key not in changed:
                continue
            kept = {
                each: totals[each]
                for each in sources
                if each in assigned or _told_ms(totals[each]) >= since_ms
            }
            yield key, encode_copied(kept) if kept else None


def _state(total: CopyTotal) -> object:
    """
    What differs if there is something to store; not the time, which goes on without news.

    None if nothing was ever copied: of thousands of empty partitions nothing is stored.
    """
    position = total.last.position if total.last else NO_OFFSET
    if position == NO_OFFSET and total.counts == Counts():
        return None
    run, counts = (total.last.run, total.last.counts) if total.last else ("", None)
    return total.before, total.unreported, run, counts, total.is_over, total.open_at


def _told_ms(total: CopyTotal) -> int:
    return total.last.at_ms if total.last else 0
