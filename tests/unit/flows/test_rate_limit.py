"""Rate limits and throttles, in virtual time."""

from __future__ import annotations

import asyncio
import math

from flows.source.fetch.rate_limit import RateLimit
from mm2.kafka.wire.throttle import Throttle
from tests.support.virtual_time import run

_MIB = 1 << 20


def test_without_a_limit_nobody_waits() -> None:
    async def fetch() -> float:
        limit = RateLimit(asyncio.get_running_loop().time)
        limit.spend(10 * _MIB)
        return await limit.allowance()

    assert run(fetch()) == math.inf


def test_bytes_come_at_the_rate() -> None:
    async def fetch() -> float:
        limit = RateLimit(asyncio.get_running_loop().time)
        limit.change(_MIB)
        for _ in range(100):
            assert await limit.allowance() > 0
            limit.spend(_MIB // 10)
        return asyncio.get_running_loop().time()

    assert 9 <= run(fetch()) <= 10


def test_a_raised_limit_is_felt_by_those_who_wait() -> None:
    async def fetch() -> float:
        loop = asyncio.get_running_loop()
        limit = RateLimit(loop.time)
        limit.change(1000)
        limit.spend(1_000_000)
        waiting = asyncio.create_task(limit.allowance())
        await asyncio.sleep(10)
        assert not waiting.done()
        limit.change(None)
        await waiting
        return loop.time()

    assert run(fetch()) == 10


def test_a_throttled_broker_is_left_alone_for_the_time_it_said() -> None:
    now = 0.0
    throttle = Throttle("A", lambda: now)
    throttle.answered(1, 0)
    assert (throttle.is_throttled(1), throttle.delay(1)) == (False, 0)
    throttle.answered(1, 2500)
    now = 1.0
    assert (throttle.is_throttled(1), throttle.delay(1), throttle.delay(2)) == (True, 1.5, 0)
    now = 3.0
    assert (throttle.is_throttled(1), throttle.delay(1)) == (True, 0)
    throttle.answered(1, 0)
    assert (throttle.is_throttled(1), throttle.total_ms) == (False, 2500)
