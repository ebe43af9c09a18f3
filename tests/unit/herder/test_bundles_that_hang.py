"""Tasks that hang: what was theirs is free for others in the end, and they get nothing more."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from types import SimpleNamespace
from typing import cast

import pytest

from mm2.core.balancing.rebalancing import Balance, Strategy
from mm2.core.model import ClusterAlias, TopicName, TopicPartition
from mm2.herder.bundles.bundle_assignments import Bundles
from mm2.herder.bundles.progress_watcher import ProgressWatcher
from mm2.herder.bundles.rate_shares import RateShares
from mm2.herder.bundles.silent_tasks import SilentTasks
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import BundleSpec
from mm2.stop_deadlines import bundle_s
from tests.support.runners import EndlessRunner
from tests.support.specs import sample_spec
from tests.support.virtual_time import run

_PARTITIONS = {TopicPartition(TopicName("t"), n): TopicName("A.t") for n in range(2)}


class _Hanging(EndlessRunner):
    """Its tasks carry out what they are told, and never end."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: asyncio.Queue[int] = asyncio.Queue()

    async def send(self, _topic: str, _key: bytes, _value: bytes, *, partition: int) -> int:
        return partition

    async def run(self, spec: BundleSpec) -> Mapping[str, int]:
        self.begun.put_nowait(spec.index)
        await asyncio.Event().wait()
        return {}


def _bundles(runner: _Hanging, group: asyncio.TaskGroup) -> Bundles:
    return Bundles(
        runner,
        cast("Writer", runner),
        slots=runner.slots.join(changed=lambda: None, refused=lambda *_: None),
        spec_of=lambda index: sample_spec(index=index),
        control_topic="control",
        epoch=3,
        balance=Balance(Strategy.LOAD, 2),
        group=group,
    )


def test_another_bundle_has_the_slot_of_one_that_has_given_all_up_and_does_not_end() -> None:
    async def work() -> float:
        runner = _Hanging()
        async with asyncio.TaskGroup() as group:
            bundles = _bundles(runner, group)
            await bundles.assign(_PARTITIONS)
            assert {await runner.begun.get() for _ in range(2)} == {0, 1}
            await bundles.reshape(Strategy.LOAD, 1, {})
            await bundles.carried_out(1, 1 << 30)
            assert bundles.holders() == {0}
            ended = asyncio.get_running_loop().time()
            await bundles.reshape(Strategy.LOAD, 2, {})
            await bundles.carried_out(0, 1 << 30)
            assert await runner.begun.get() == 1
            took_s = asyncio.get_running_loop().time() - ended
            await bundles.stop()
        return took_s

    assert run(work()) == pytest.approx(bundle_s(sample_spec().drain_within_s), abs=1)


@pytest.mark.parametrize("is_late", [False, True])
def test_no_partitions_move_while_it_is_not_known_what_a_task_does(*, is_late: bool) -> None:
    looks = []

    async def look(*_: object) -> None:
        looks.append(1)

    bundles = cast("Bundles", SimpleNamespace(is_stopping=False, rebalance=look))
    watcher = ProgressWatcher(
        bundles,
        target=ClusterAlias("B"),
        consumer={},
        topic="progress",
        epoch=1,
        silent=cast("SilentTasks", SimpleNamespace(are_late=lambda: is_late)),
        balance_every=timedelta(minutes=1),
        shares=cast("RateShares", None),
    )
    run(watcher._rebalance())
    assert looks == ([] if is_late else [1])
