"""A leader divides the flow's byte rate by what its tasks report."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec
import pytest

from mm2.errors import SchemaError
from mm2.herder.bundles.rate_shares import RateShares
from mm2.protocol.command_records import RateDivision
from mm2.protocol.control_codec import decode_control, encode_control
from mm2.protocol.progress_records import BundleProgress, PaceProgress, PartitionProgress

_IDLE = PartitionProgress(
    topic="t", partition=0, remote="A.t", records=0, bytes=0, position=0, end=0, lag=0
)


class _Tasks:
    """Two tasks that have a kilobyte a second each, and report every second."""

    def __init__(self) -> None:
        self.told: list[Mapping[int, float]] = []
        self.shares = RateShares(lambda: {0, 1}, self._tell)
        self._totals = [0, 0]
        self._now_ms = 0

    async def _tell(self, portions: Mapping[int, float]) -> None:
        self.told.append(portions)

    def copy(self, seconds: int, *rates: int, limit: float | None = 1_000.0) -> None:
        """Both copy at these rates."""
        for _ in range(seconds):
            self._now_ms += 1_000
            for task, rate in enumerate(rates):
                self._totals[task] += rate
                partition = msgspec.structs.replace(_IDLE, partition=task, bytes=self._totals[task])
                self.shares.observe(
                    BundleProgress(
                        bundle=task,
                        epoch=1,
                        generation=1,
                        time_ms=self._now_ms,
                        pid=task,
                        partitions=(partition,),
                        pace=PaceProgress(byte_rate_limit=limit),
                    )
                )

    def look(self) -> None:
        asyncio.run(self.shares.evaluate())


def test_a_task_that_is_held_back_gets_what_the_other_one_leaves() -> None:
    tasks = _Tasks()
    tasks.copy(30, 1_000, 50)
    tasks.look()
    (portions,) = tasks.told
    assert portions == pytest.approx({0: 0.9, 1: 0.1})
    tasks.look()
    assert len(tasks.told) == 1, "nothing has changed"


def test_portions_are_short_in_a_record() -> None:
    tasks = _Tasks()
    tasks.copy(30, 1_000, 123)
    tasks.look()
    (portions,) = tasks.told
    assert portions == {task: round(each, 4) for task, each in portions.items()}
    assert sum(portions.values()) == pytest.approx(1, abs=1e-3)


def test_nothing_is_divided_that_has_no_limit_or_is_not_known() -> None:
    tasks = _Tasks()
    tasks.look()
    tasks.copy(30, 1_000)
    tasks.look()
    tasks.copy(30, 1_000, 50, limit=None)
    tasks.look()
    assert tasks.told == []


def test_the_division_is_a_record() -> None:
    division = RateDivision(epoch=7, portions={0: 0.9, 12: 0.1})
    assert decode_control(*encode_control(division)) == division
    assert decode_control(encode_control(division)[0], None) is None
    assert decode_control(b"limit", b"{}") is None
    for damaged in (b"{", b"{}", b'{"epoch":1,"portions":3}'):
        with pytest.raises(SchemaError):
            decode_control(b"shares", damaged)
