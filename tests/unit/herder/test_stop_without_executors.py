"""A bundle that has no executor has nothing to drain: no stop or restart waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import cast

import pytest

from mm2.core.balancing.rebalancing import Balance, Strategy
from mm2.core.model import TopicName, TopicPartition
from mm2.herder.bundles.bundle_assignments import Bundles
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import BundleSpec
from tests.support.runners import EndlessRunner
from tests.support.specs import sample_spec
from tests.support.virtual_time import run

_PARTITION = TopicPartition(TopicName("t"), 0)


class _Cluster(EndlessRunner):
    """Takes jobs until they are cancelled; has an executor for them, or none."""

    def __init__(self, *, has_executor: bool = False) -> None:
        super().__init__()
        self._has_executor = has_executor
        self.submitted = asyncio.Event()
        self.is_cancelled = False

    async def send(self, _topic: str, _key: bytes, _value: bytes, *, partition: int) -> int:
        return partition

    async def run(self, _spec: BundleSpec) -> Mapping[str, int]:
        self.submitted.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.is_cancelled = True
        return {}

    async def is_running(self, bundle: str) -> bool:
        return self._has_executor and bundle == sample_spec().name


def _bundles(cluster: _Cluster, group: asyncio.TaskGroup) -> Bundles:
    return Bundles(
        cluster,
        cast("Writer", cluster),
        slots=cluster.slots.join(changed=lambda: None, refused=lambda *_: None),
        spec_of=lambda index: sample_spec(index=index),
        control_topic="control",
        epoch=3,
        balance=Balance(Strategy.LOAD, 1),
        group=group,
    )


def _seconds_to_end(
    cluster: _Cluster, end: Callable[[Bundles], Awaitable[None]], *, is_reported: bool
) -> float:
    async def work() -> float:
        async with asyncio.TaskGroup() as group:
            bundles = _bundles(cluster, group)
            await bundles.assign({_PARTITION: TopicName("A.t")})
            await cluster.submitted.wait()
            await bundles.carried_out(0, 0)  # by a task before, whose executor was lost
            if is_reported:
                cluster.slots.report_waiting(sample_spec().name, "no executor")
            began = asyncio.get_running_loop().time()
            await end(bundles)
            took_s = asyncio.get_running_loop().time() - began
            await bundles.stop()
            return took_s

    return run(work())


@pytest.mark.parametrize("end", [Bundles.stop, Bundles.restart])
def test_one_that_waits_for_an_executor_is_cancelled_at_once(
    end: Callable[[Bundles], Awaitable[None]],
) -> None:
    cluster = _Cluster()
    assert _seconds_to_end(cluster, end, is_reported=True) < 1
    assert cluster.is_cancelled


@pytest.mark.parametrize("end", [Bundles.stop, Bundles.restart])
def test_one_that_has_begun_since_it_was_seen_to_wait_may_drain(
    end: Callable[[Bundles], Awaitable[None]],
) -> None:
    assert _seconds_to_end(_Cluster(has_executor=True), end, is_reported=True) > 5


@pytest.mark.parametrize("end", [Bundles.stop, Bundles.restart])
def test_another_one_may_drain(end: Callable[[Bundles], Awaitable[None]]) -> None:
    cluster = _Cluster()
    assert _seconds_to_end(cluster, end, is_reported=False) > 5
    assert cluster.is_cancelled


class _SlowTopic(_Cluster):
    """Jobs end when they are to; a write takes a while."""

    def __init__(self) -> None:
        super().__init__(has_executor=True)
        self.stopped = asyncio.Event()
        self.writing = asyncio.Event()
        self.jobs: list[int] = []

    async def send(self, topic: str, key: bytes, value: bytes, *, partition: int) -> int:
        self.writing.set()
        await asyncio.sleep(1)
        return await super().send(topic, key, value, partition=partition)

    async def run(self, spec: BundleSpec) -> Mapping[str, int]:
        self.jobs.append(spec.index)
        self.submitted.set()
        await self.stopped.wait()
        return {}


def test_no_bundle_is_started_by_what_is_carried_out_while_all_are_to_stop() -> None:
    """It would read that it is to stop, and be submitted again and again."""

    async def work() -> list[int]:
        cluster = _SlowTopic()
        async with asyncio.TaskGroup() as group:
            bundles = _bundles(cluster, group)
            both = {TopicPartition(TopicName("t"), n): TopicName("A.t") for n in range(2)}
            await bundles.assign(both)
            await cluster.submitted.wait()
            await bundles.reshape(Strategy.LOAD, 2, {})
            cluster.writing.clear()
            moves = group.create_task(bundles.carried_out(0, 1 << 31))
            await cluster.writing.wait()
            stop = group.create_task(bundles.stop())
            await asyncio.sleep(0)
            cluster.stopped.set()
            await asyncio.wait([moves, stop])
        return cluster.jobs

    assert run(work()) == [0]
