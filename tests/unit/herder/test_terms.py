"""What only a leader may do rests while the node cannot tell whether it leads."""

from __future__ import annotations

import asyncio

from mm2.herder.board import ControlBoard
from mm2.herder.term import Term
from mm2.kafka.writer import Writer


def _term() -> Term:
    return Term(ControlBoard("B", {}, "control"), Writer("B", {}), epoch=1, advance=lambda: None)


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
