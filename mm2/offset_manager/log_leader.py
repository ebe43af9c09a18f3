"""
Leads one log partition: takes it, appends commits to it, and has the log confirm what it knows.

What may be answered, ``mm2.core.offset_manager.log_partition`` decides; this asks and waits.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import structlog

from mm2.core.offset_manager.commits import OffsetError
from mm2.core.offset_manager.expiry import Expiry
from mm2.core.offset_manager.log_partition import Confirmation, LogPartition, LogRole
from mm2.core.offset_manager.offset_table import Change
from mm2.errors import ClusterError
from mm2.kafka.logs.exclusive_log import BatchTooLarge, ExclusiveLog, TakenOver
from mm2.offset_manager.commit_queue import CommitQueue, QueuedCommit

log = structlog.get_logger()

_AGAIN_S: Final = 0.1


class LogLeader:
    """
    What one instance does for one log partition.

    Args:
        exclusive: the log.
        patience_s: how long a commit or a fetch waits for the cluster.

    Attributes:
        state: what the instance knows.
    """

    def __init__(self, exclusive: ExclusiveLog, *, patience_s: float) -> None:
        self.state = LogPartition()
        self._log = exclusive
        self._patience_s = patience_s
        self._commits = CommitQueue()
        self._fetches: dict[asyncio.Future[OffsetError], None] = {}
        self._expiry: Expiry | None = None
        self._is_appending = False
        self._one_term = asyncio.Lock()
        self._to_append, self._to_confirm, self._settled = (asyncio.Event() for _ in range(3))

    async def lead(self, turns: asyncio.Semaphore, taken: Callable[[], None]) -> None:
        """
        Takes the log from whoever had it, and leads it until somebody else does.

        Args:
            turns: held while the log is taken.
            taken: called once the log has been taken, and is to be loaded.

        Raises:
            Fenced: somebody takes it at the same time.
            ClusterError: it cannot be taken now.
        """
        async with self._one_term:
            self.state.claim()
            async with turns:
                self.state.take(await self._log.take())
            taken()
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._append_all(self.state.term), name="append")
                    group.create_task(self._confirm_all(self.state.term), name="confirm")
            finally:
                self.lose()

    def lose(self) -> None:
        """Leads no more; whoever waits for an answer is sent elsewhere."""
        self.state.lose()
        self._expiry = None
        commits = self._commits.clear()
        _answer([*(each.answer for each in commits), *self._fetches], OffsetError.NOT_COORDINATOR)
        for event in (self._to_append, self._to_confirm, self._settled):
            event.set()

    async def commit(self, changes: Sequence[Change]) -> OffsetError:
        """
        Appends changes as part of one batch, and applies them once all replicas have them.

        Returns:
            ``NONE`` if they count; otherwise they may still come to be in the log, unless they
            are refused for their size.
        """
        if error := self.state.commit_error:
            return error
        try:
            commit = QueuedCommit.of(changes)
        except struct.error as reason:
            log.error("offset_manager.not_written", error=str(reason))
            commit = None
        if commit is None:
            return OffsetError.INVALID_COMMIT_OFFSET_SIZE
        if not self._commits.add(commit):
            return OffsetError.COORDINATOR_NOT_AVAILABLE
        self._to_append.set()
        return await self._answered(commit.answer)

    async def confirm(self) -> OffsetError:
        """Asks the log whether the table is complete; if it is, it may be read at once."""
        if error := self.state.fetch_error:
            return error
        term, answer = self.state.term, asyncio.get_running_loop().create_future()
        self._fetches[answer] = None
        self._to_confirm.set()
        try:
            error = await self._answered(answer)
        finally:
            del self._fetches[answer]
        return error if self.state.term == term else OffsetError.NOT_COORDINATOR

    def expire(self, now_ms: int, retention_ms: int) -> None:
        """Deletes what has expired, by tombstones between commits, unless it does so already."""
        if self.state.role is LogRole.LEADING and self._expiry is None:
            self._expiry = Expiry(self.state.table, now_ms, retention_ms)
            self._to_append.set()

    async def _answered(self, answer: asyncio.Future[OffsetError]) -> OffsetError:
        try:
            async with asyncio.timeout(self._patience_s):
                return await answer
        except TimeoutError:
            return OffsetError.COORDINATOR_NOT_AVAILABLE

    async def _append_all(self, term: int) -> None:
        while self.state.term == term:
            if self._expiry is not None:
                await self._delete_some(self._expiry)
            if commits := self._commits.next_batch():
                await self._append_and_answer(commits)
            elif self._expiry is not None:
                await asyncio.sleep(0)
            else:
                self._to_append.clear()
                await self._to_append.wait()

    async def _append_and_answer(self, commits: Sequence[QueuedCommit]) -> OffsetError:
        self._is_appending = True
        try:
            error = await self._append(commits)
            _answer([each.answer for each in commits], error)
            return error
        finally:
            self._is_appending = False
            _answer([each.answer for each in commits], OffsetError.NOT_COORDINATOR)
            self._settled.set()

    async def _delete_some(self, expiry: Expiry) -> None:
        """Looks for what has expired, and appends a batch of tombstones once there is enough."""
        expiry.look()
        commit = QueuedCommit.tombstones(expiry.to_delete())
        if commit.changes:
            log.info("offset_manager.expired", offsets=len(commit.changes))
            if await self._append_and_answer([commit]):
                self._expiry = None  # until it is looked for again
        if expiry.is_over:
            self._expiry = None

    async def _append(self, commits: Sequence[QueuedCommit]) -> OffsetError:
        changes = [change for commit in commits for change in commit.changes]
        records = [record for commit in commits for record in commit.records]
        try:
            base_offset = await self._log.append(records)
        except TakenOver as error:
            self._overtaken(str(error))
            return OffsetError.NOT_COORDINATOR
        except BatchTooLarge:
            return await self._append_singly(commits)
        except ClusterError as error:
            log.error("offset_manager.not_written", error=str(error))
            return OffsetError.COORDINATOR_NOT_AVAILABLE
        if self.state.appended(base_offset, changes):
            if self._expiry is not None:
                self._expiry.applied(changes)
            return OffsetError.NONE
        self._overtaken(f"something else is in the log before {base_offset}")
        return OffsetError.NOT_COORDINATOR

    async def _append_singly(self, commits: Sequence[QueuedCommit]) -> OffsetError:
        """So that one which is too large does not have the others refused."""
        if len(commits) > 1:
            for commit in commits:
                _answer([commit.answer], await self._append([commit]))
        return OffsetError.INVALID_COMMIT_OFFSET_SIZE

    async def _confirm_all(self, term: int) -> None:
        while self.state.term == term:
            asked = [each for each in self._fetches if not each.done()]
            if not asked:
                self._to_confirm.clear()
                await self._to_confirm.wait()
                continue
            try:
                _answer(asked, await self._confirmed())
            except ClusterError:
                # They wait as long as they have patience.
                await asyncio.sleep(_AGAIN_S)

    async def _confirmed(self) -> OffsetError:
        before, term = self.state.next_offset, self.state.term
        end = await self._log.end()
        while self.state.term == term:
            match self.state.confirm(before, end, is_appending=self._is_appending):
                case Confirmation.CURRENT:
                    return OffsetError.NONE
                case Confirmation.OVERTAKEN:
                    self._overtaken(f"the log ends at {end}, not at {self.state.next_offset}")
                case Confirmation.WAITING:
                    self._settled.clear()
                    await self._settled.wait()
        return OffsetError.NOT_COORDINATOR

    def _overtaken(self, reason: str) -> None:
        log.warning("offset_manager.overtaken", partition=self._log.where.partition, reason=reason)
        self.lose()


def _answer(answers: Iterable[asyncio.Future[OffsetError]], error: OffsetError) -> None:
    for each in answers:
        if not each.done():
            each.set_result(error)
