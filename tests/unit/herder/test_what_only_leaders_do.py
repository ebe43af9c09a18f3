"""What only a leader may do rests while the node cannot tell whether it leads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from mm2.core.connect.config_records import TargetState
from mm2.core.connect.status_records import StatusChange
from mm2.herder.control.control_topic import ControlTopicState
from mm2.herder.election.leadership_term import LeadershipTerm
from mm2.herder.status.status_keeper import StatusKeeper
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.kafka.writer import Writer
from tests.support.configs import flow_of


def _term() -> LeadershipTerm:
    return LeadershipTerm(
        flow_of(),
        ControlTopicState("B", {}, "control"),
        Writer("B", {}),
        epoch=1,
        advance=lambda: None,
    )


class _Work:
    """Counts how often it begins and is cancelled, and ends when it may."""

    def __init__(self) -> None:
        self.begun = self.cancelled = 0
        self.may_end = asyncio.Event()

    async def __call__(self) -> None:
        self.begun += 1
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


async def _settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_work_is_cancelled_in_doubt_and_begins_anew_without() -> None:
    term, work = _term(), _Work()
    async with asyncio.TaskGroup() as group:
        done = group.create_task(term.while_leading(work))
        await _settle()
        assert (work.begun, work.cancelled) == (1, 0)
        term.suspend()
        await _settle()
        assert (work.begun, work.cancelled) == (1, 1), "nothing is done in doubt"
        term.resume()
        await _settle()
        assert (work.begun, work.cancelled) == (2, 1)
        work.may_end.set()
        await asyncio.wait([done])
    assert (work.begun, work.cancelled) == (2, 1), "what has ended does not begin again"


async def test_nothing_begins_in_doubt() -> None:
    term, work = _term(), _Work()
    term.suspend()
    waiting = asyncio.create_task(term.while_leading(work))
    await _settle()
    waiting.cancel()
    await asyncio.wait([waiting])
    assert work.begun == 0


class _Entries:
    """A status topic without entries."""

    is_enabled, target = True, TargetState.STARTED

    def __init__(self) -> None:
        self.writes = 0

    async def load(self, snapshot: FlowSnapshot) -> None:
        """Nothing is to be read."""

    async def write(self, snapshot: FlowSnapshot, changes: Iterable[StatusChange]) -> None:
        self.writes += 1

    async def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(("is_suspended", "writes"), [(False, 1), (True, 0)])
async def test_the_last_words_of_a_term_in_doubt_are_not_written(
    is_suspended: bool, writes: int
) -> None:
    """Others may lead already, or the target does not answer: a stop would wait for it."""
    term, entries = _term(), _Entries()
    keeper = StatusKeeper(flow_of, lambda _: entries, owner="n", worker_id="n")

    async with asyncio.TaskGroup() as group, keeper.writing(term, group):
        if is_suspended:
            term.suspend()
    assert entries.writes == writes
