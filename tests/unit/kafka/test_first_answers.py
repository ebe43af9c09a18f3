"""Of several who know the same, whoever answers first is believed."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from aiokafka.errors import KafkaConnectionError, NodeNotReadyError

from mm2.kafka.wire.hedging import first_success
from tests.support.virtual_time import run

_NEVER = 10_000.0


class _Some:
    """Those who are asked, by how long each takes; who fails says so at once."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.given_up: list[str] = []

    async def after(self, seconds: float, name: str) -> str:
        self.asked.append(name)
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self.given_up.append(name)
            raise
        return name

    async def fail(self, name: str) -> str:
        self.asked.append(name)
        raise KafkaConnectionError(name)


def test_the_next_one_is_asked_when_one_is_slow_and_the_slow_one_may_still_be_the_first() -> None:
    some = _Some()
    attempts = [partial(some.after, 5.0, "slow"), partial(some.after, _NEVER, "silent")]
    assert run(first_success(attempts, patience_s=2.0)) == "slow"
    assert some.asked == ["slow", "silent"]
    assert some.given_up == ["silent"]


def test_nobody_else_is_asked_when_the_first_one_answers_soon() -> None:
    some = _Some()
    attempts = [partial(some.after, 1.0, "quick"), partial(some.after, 0.0, "other")]
    assert run(first_success(attempts, patience_s=2.0)) == "quick"
    assert some.asked == ["quick"]


def test_after_a_failure_the_next_one_is_asked_at_once() -> None:
    some = _Some()

    async def work() -> float:
        attempts = [partial(some.fail, "refuses"), partial(some.after, 0.0, "answers")]
        assert await first_success(attempts, patience_s=_NEVER) == "answers"
        return asyncio.get_running_loop().time()

    assert run(work()) < 1.0


def test_without_patience_all_are_asked_at_the_same_time() -> None:
    some = _Some()
    attempts = [partial(some.after, _NEVER, "silent"), partial(some.after, 1.0, "answers")]
    assert run(first_success(attempts, patience_s=0)) == "answers"


def test_the_last_reason_is_told_when_all_fail() -> None:
    some = _Some()
    with pytest.raises(KafkaConnectionError, match="two"):
        run(first_success([partial(some.fail, "one"), partial(some.fail, "two")], patience_s=1.0))
    with pytest.raises(NodeNotReadyError, match="no broker is known"):
        run(first_success([], patience_s=1.0))


def test_who_asks_ends_with_those_that_are_asked() -> None:
    some = _Some()

    async def work() -> None:
        attempts = [partial(some.after, _NEVER, "one"), partial(some.after, _NEVER, "two")]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5.0):
                await first_success(attempts, patience_s=1.0)

    run(work())
    assert some.given_up == ["one", "two"]
