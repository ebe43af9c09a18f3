"""The bound on memory between fetch and acknowledgement."""

from __future__ import annotations

import asyncio

from flows.source.fetch.memory_budget import MemoryBudget


async def test_reservations_are_cut_to_what_is_left() -> None:
    budget = MemoryBudget(100)
    assert await budget.acquire(80) == 80
    assert await budget.acquire(80) == 20
    assert budget.used == 100


async def test_a_full_budget_makes_the_next_one_wait() -> None:
    budget = MemoryBudget(100)
    budget.charge(100)
    waiting = asyncio.create_task(budget.acquire(10))
    await asyncio.sleep(0)
    assert not waiting.done()
    budget.release(30)
    assert await waiting == 10
    assert budget.used == 80


async def test_more_than_the_limit_may_be_taken_but_not_reserved() -> None:
    """One answer may exceed the limit, because batches are not cut."""
    budget = MemoryBudget(100)
    budget.charge(250)
    waiting = asyncio.create_task(budget.acquire(10))
    budget.release(140)
    await asyncio.sleep(0)
    assert not waiting.done()
    budget.release(60)
    assert await waiting == 10


async def test_of_two_that_wait_each_gets_at_least_one_byte() -> None:
    """A fetch for no bytes at all would be answered with nothing, for ever."""
    budget = MemoryBudget(100)
    budget.charge(100)
    waiting = [asyncio.create_task(budget.acquire(50)) for _ in range(2)]
    await asyncio.sleep(0)
    budget.release(50)
    assert sorted([await each for each in waiting]) == [1, 50]
