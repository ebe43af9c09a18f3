"""When commits and fetches of a log partition are answered, and with what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import cast

import pytest

from mm2.core.model import TopicName, TopicPartition
from mm2.core.offset_manager.commits import OffsetError, StoredOffset
from mm2.core.offset_manager.committed_offset_records import OffsetKey
from mm2.core.offset_manager.log_partition import LogRole
from mm2.core.offset_manager.offset_table import Change
from mm2.errors import Unavailable
from mm2.kafka.logs.exclusive_log import BatchTooLarge, ExclusiveLog, LogRecord, TakenOver
from mm2.offset_manager.log_leader import LogLeader

WHERE = TopicPartition(TopicName("offsets"), 0)


class FakeLog:
    """A log that holds each append until it is let go."""

    def __init__(self) -> None:
        self.where = WHERE
        self.written: list[Sequence[LogRecord]] = []
        self.length = 10
        self.most = 100
        self.error: Exception | None = None
        self.end_error: Exception | None = None
        self.go = asyncio.Event()
        self.sent = asyncio.Event()
        self.go.set()

    async def take(self) -> int:
        return self.length

    async def end(self) -> int:
        if self.end_error is not None:
            raise self.end_error
        return self.length

    async def append(self, records: Sequence[LogRecord]) -> int:
        if len(records) > self.most:
            raise BatchTooLarge("c", "too large")
        self.sent.set()
        await self.go.wait()
        if self.error is not None:
            raise self.error
        base, self.length = self.length, self.length + len(records)
        self.written.append(records)
        return base


def change(group: str, offset: int) -> Change:
    where = TopicPartition(TopicName("t"), 0)
    return OffsetKey(group, where), StoredOffset(offset=offset, commit_ms=0)


def offset_of(leader: LogLeader, group: str) -> int | None:
    found = leader.state.table.fetch(group, None)
    return next((each.offset for each in found.values()), None)


async def turns_of_search(leader: LogLeader) -> int:
    """How often the loop has its turn until the search for expired offsets is over."""
    for turns in range(1_000):
        if leader._expiry is None:
            return turns
        await asyncio.sleep(0)
    raise AssertionError("the search does not end")


@asynccontextmanager
async def leading(log: FakeLog, patience_s: float = 60.0) -> AsyncIterator[LogLeader]:
    """A leader that has loaded."""
    leader = LogLeader(cast("ExclusiveLog", log), patience_s=patience_s)
    taken = asyncio.Event()
    task = asyncio.create_task(leader.lead(asyncio.Semaphore(), taken.set))
    try:
        await taken.wait()
        leader.state.loaded()
        yield leader
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_commit_is_answered_and_seen_once_the_log_has_it_and_not_before() -> None:
    log = FakeLog()
    log.go.clear()
    async with leading(log) as leader:
        commit = asyncio.create_task(leader.commit([change("g", 5)]))
        await log.sent.wait()
        assert not commit.done()
        assert offset_of(leader, "g") is None
        log.go.set()
        assert await commit is OffsetError.NONE
        assert offset_of(leader, "g") == 5


async def test_commits_that_wait_for_one_under_way_share_the_next_batch() -> None:
    log = FakeLog()
    log.go.clear()
    async with leading(log) as leader:
        first = asyncio.create_task(leader.commit([change("a", 1)]))
        await log.sent.wait()
        others = [asyncio.create_task(leader.commit([change(each, 2)])) for each in "bcd"]
        await asyncio.sleep(0)
        log.go.set()
        assert set(await asyncio.gather(first, *others)) == {OffsetError.NONE}
    assert [len(each) for each in log.written] == [1, 3]


async def test_only_the_commit_that_is_too_large_is_refused() -> None:
    log = FakeLog()
    log.most = 2
    log.go.clear()
    async with leading(log) as leader:
        first = asyncio.create_task(leader.commit([change("a", 1)]))
        await log.sent.wait()
        large = asyncio.create_task(leader.commit([change(each, 2) for each in "bcd"]))
        small = asyncio.create_task(leader.commit([change("e", 3)]))
        await asyncio.sleep(0)
        log.go.set()
        answers = [await first, await large, await small]
    too_large = OffsetError.INVALID_COMMIT_OFFSET_SIZE
    assert answers == [OffsetError.NONE, too_large, OffsetError.NONE]
    assert offset_of(leader, "b") is None


async def test_a_commit_behind_somebody_elses_batch_is_not_acknowledged() -> None:
    log = FakeLog()
    async with leading(log) as leader:
        log.length += 1
        assert await leader.commit([change("g", 5)]) is OffsetError.NOT_COORDINATOR
        assert leader.state.role is LogRole.FOLLOWING


async def test_a_fenced_leader_sends_clients_elsewhere() -> None:
    log = FakeLog()
    log.error = TakenOver("c", "fenced")
    async with leading(log) as leader:
        assert await leader.commit([change("g", 5)]) is OffsetError.NOT_COORDINATOR
        assert await leader.confirm() is OffsetError.NOT_COORDINATOR


async def test_a_fetch_is_not_answered_from_memory_when_the_log_has_grown() -> None:
    log = FakeLog()
    async with leading(log) as leader:
        assert await leader.confirm() is OffsetError.NONE
        log.length += 1
        assert await leader.confirm() is OffsetError.NOT_COORDINATOR
        assert leader.state.role is LogRole.FOLLOWING


async def test_a_fetch_waits_for_the_batch_that_the_log_has_and_that_is_not_acknowledged() -> None:
    log = FakeLog()
    log.go.clear()
    async with leading(log) as leader:
        commit = asyncio.create_task(leader.commit([change("g", 5)]))
        await log.sent.wait()
        log.length += 1
        fetch = asyncio.create_task(leader.confirm())
        for _ in range(10):
            await asyncio.sleep(0)
        assert not fetch.done()
        log.length -= 1
        log.go.set()
        assert [await commit, await fetch] == [OffsetError.NONE] * 2


@pytest.mark.parametrize("is_away", [True, False])
async def test_fetches_that_were_given_up_are_not_kept(is_away: bool) -> None:
    log = FakeLog()
    log.go.clear()
    async with leading(log, patience_s=0.01) as leader:
        commit = asyncio.create_task(leader.commit([change("g", 5)]))
        await log.sent.wait()
        log.length += 1  # the batch is there, and its acknowledgement is not
        log.end_error = Unavailable("c", "nobody leads it") if is_away else None
        for _ in range(3):
            answers = await asyncio.gather(*(leader.confirm() for _ in range(10)))
            assert set(answers) == {OffsetError.COORDINATOR_NOT_AVAILABLE}
            assert not leader._fetches
        await commit


async def test_who_waits_when_the_partition_is_lost_is_sent_elsewhere() -> None:
    log = FakeLog()
    log.go.clear()
    async with leading(log) as leader:
        commits = [asyncio.create_task(leader.commit([change(each, 1)])) for each in "ab"]
        await log.sent.wait()
        leader.lose()
        log.go.set()
        assert set(await asyncio.gather(*commits)) == {OffsetError.NOT_COORDINATOR}
        assert offset_of(leader, "a") is None


async def test_a_client_hears_in_time_that_the_cluster_does_not_answer() -> None:
    log = FakeLog()
    log.go.clear()
    async with leading(log, patience_s=0.01) as leader:
        answer = await leader.commit([change("g", 5)])
        assert answer is OffsetError.COORDINATOR_NOT_AVAILABLE


async def test_what_waits_when_its_client_has_been_told_that_it_failed_is_not_written() -> None:
    log = FakeLog()
    log.go.clear()
    async with leading(log, patience_s=0.5) as leader:
        first = asyncio.create_task(leader.commit([change("a", 1)]))
        await log.sent.wait()
        second = asyncio.create_task(leader.commit([change("b", 1)]))
        assert await first is await second is OffsetError.COORDINATOR_NOT_AVAILABLE
        log.go.set()
        assert await leader.commit([change("c", 1)]) is OffsetError.NONE
        assert offset_of(leader, "a") == 1
        assert offset_of(leader, "b") is None
    assert [len(each) for each in log.written] == [1, 1]


async def test_what_cannot_be_encoded_fails_alone() -> None:
    log = FakeLog()
    where = TopicPartition(TopicName("t"), 0)
    async with leading(log) as leader:
        never = StoredOffset(offset=1, commit_ms=0, expire_ms=2**63)
        answer = await leader.commit([(OffsetKey("g", where), never)])
        assert answer is OffsetError.INVALID_COMMIT_OFFSET_SIZE
        assert await leader.commit([change("g", 5)]) is OffsetError.NONE


async def test_a_commit_over_the_size_is_refused_before_it_is_queued() -> None:
    log = FakeLog()
    log.most = 1_000_000
    group = "g" * 32_767
    async with leading(log) as leader:
        keys = [OffsetKey(group, TopicPartition(TopicName("t"), n)) for n in range(3_300)]
        stored = StoredOffset(offset=1, commit_ms=0)
        answer = await leader.commit([(key, stored) for key in keys])
        assert answer is OffsetError.INVALID_COMMIT_OFFSET_SIZE
        assert log.written == []
        assert await leader.commit([(key, stored) for key in keys[:200]]) is OffsetError.NONE


async def test_commits_with_long_groups_do_not_share_a_batch_over_its_size() -> None:
    log = FakeLog()
    log.go.clear()
    async with leading(log) as leader:
        first = asyncio.create_task(leader.commit([change("a", 1)]))
        await log.sent.wait()
        names = [str(n).zfill(32_767) for n in range(40)]
        others = [asyncio.create_task(leader.commit([change(each, 2)])) for each in names]
        await asyncio.sleep(0)
        log.go.set()
        assert set(await asyncio.gather(first, *others)) == {OffsetError.NONE}
    assert [len(each) for each in log.written] == [1, 30, 10]


async def test_commits_over_what_may_wait_are_told_to_come_again() -> None:
    log = FakeLog()
    log.most = 1_000
    log.go.clear()
    async with leading(log) as leader:
        first = asyncio.create_task(leader.commit([change("a", 1)]))
        await log.sent.wait()
        large = [change(str(n).zfill(32_000), 2) for n in range(200)]
        others = [asyncio.create_task(leader.commit(large)) for _ in range(3)]
        await asyncio.sleep(0)
        assert [each.done() for each in others] == [False, False, True]
        assert await others[2] is OffsetError.COORDINATOR_NOT_AVAILABLE
        log.go.set()
        assert set(await asyncio.gather(first, *others[:2])) == {OffsetError.NONE}
        assert await leader.commit(large) is OffsetError.NONE


async def test_many_offsets_expire_in_several_batches() -> None:
    log = FakeLog()
    async with leading(log) as leader:
        names = [str(n).zfill(32_767) for n in range(80)]
        for each in names:
            assert await leader.commit([change(each, 1)]) is OffsetError.NONE
        log.written.clear()
        leader.expire(now_ms=100, retention_ms=100)
        for _ in range(20):
            await asyncio.sleep(0)
    assert [len(each) for each in log.written] == [30, 30, 20]


async def test_commits_have_their_turn_while_offsets_expire_and_keep_their_group() -> None:
    log = FakeLog()
    async with leading(log) as leader:
        names = [str(n).zfill(32_767) for n in range(80)]
        for each in names:
            assert await leader.commit([change(each, 1)]) is OffsetError.NONE
        log.written.clear()
        leader.expire(now_ms=100, retention_ms=100)
        assert await leader.commit([change(names[-1], 2)]) is OffsetError.NONE
        await turns_of_search(leader)
        assert offset_of(leader, names[-1]) == 2
        assert leader.state.table.groups() == names[-1:]
    assert [len(each) for each in log.written] == [30, 1, 30, 19]


async def test_the_loop_has_its_turn_while_a_large_table_is_searched() -> None:
    log = FakeLog()
    async with leading(log) as leader:
        leader.state.table.apply_all([change(f"g{n}", 1) for n in range(10_000)], 0)
        leader.expire(now_ms=99, retention_ms=100)
        assert await turns_of_search(leader) > 10
    assert log.written == []


async def test_tombstones_that_cannot_be_written_wait_for_the_next_search() -> None:
    log = FakeLog()
    async with leading(log) as leader:
        assert await leader.commit([change("g", 5)]) is OffsetError.NONE
        log.error = Unavailable("c", "nobody leads it")
        leader.expire(now_ms=100, retention_ms=100)
        await turns_of_search(leader)
        log.error = None
        assert offset_of(leader, "g") == 5
        leader.expire(now_ms=100, retention_ms=100)
        assert await leader.commit([change("h", 6)]) is OffsetError.NONE
        assert offset_of(leader, "g") is None


@pytest.mark.parametrize("role", [LogRole.LOADING, LogRole.FOLLOWING])
async def test_nothing_expires_before_the_table_is_complete(role: LogRole) -> None:
    log = FakeLog()
    async with leading(log) as leader:
        leader.state.table.apply_all([change("g", 1)], 0)
        leader.state.role = role
        leader.expire(now_ms=100, retention_ms=100)
        assert leader._expiry is None


async def test_what_has_expired_is_deleted_by_tombstones() -> None:
    log = FakeLog()
    async with leading(log) as leader:
        assert await leader.commit([change("g", 5)]) is OffsetError.NONE
        leader.expire(now_ms=100, retention_ms=100)
        assert await leader.commit([change("h", 6)]) is OffsetError.NONE
        assert offset_of(leader, "g") is None
    ((_, tombstone),) = log.written[1]
    assert tombstone is None


@pytest.mark.parametrize("role", [LogRole.TAKING, LogRole.FOLLOWING])
async def test_nothing_is_written_before_the_log_is_taken(role: LogRole) -> None:
    log = FakeLog()
    leader = LogLeader(cast("ExclusiveLog", log), patience_s=60.0)
    leader.state.role = role
    assert await leader.commit([change("g", 5)])
    assert log.written == []
