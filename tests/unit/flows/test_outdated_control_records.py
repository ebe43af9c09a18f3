"""What comes a second time in the control topic, behind what has replaced it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import structlog

from flows.source.control_follower import ControlFollower
from flows.source.fetch.rate_limit import RateLimit
from flows.source.task_lease import TaskLease
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.logs.records import Record
from mm2.protocol.command_records import LiveSettings, RateDivision
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import Assignment, BundleState
from mm2.telemetry.logs import configure_task_logs
from tests.support.specs import sample_spec
from tests.support.virtual_time import run

_P, _Q = (TopicPartition(TopicName("t"), number) for number in range(2))
_EPOCH = 7


class _Tail:
    """A control topic that holds some records."""

    def __init__(self, *written: tuple[bytes, bytes]) -> None:
        self._written = written
        self.caught_up = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[Record]:
        for offset, (key, value) in enumerate(self._written):
            yield Record(
                topic="c", partition=0, offset=offset, timestamp_ms=0, key=key, value=value
            )
        self.caught_up.set()
        await asyncio.get_running_loop().create_future()


class _Follower:
    """One that has read everything that was written."""

    def __init__(self, *written: tuple[bytes, bytes], generation: int = 0) -> None:
        self.limit = RateLimit(lambda: 0.0)
        self.paced: list[LiveSettings] = []
        spec = sample_spec(epoch=_EPOCH, generation=generation, byte_rate_limit=1000)
        lease = TaskLease(lambda: 0.0)
        self.control = ControlFollower(spec, self.limit, lease)
        self.control.pace(self.paced.append)
        self._tail = _Tail(*written)
        self.control._tail = self._tail  # type: ignore[assignment]

    async def read(self) -> None:
        task = asyncio.create_task(self.control.follow())
        await self._tail.caught_up.wait()
        task.cancel()


def _assigned(
    generation: int,
    *partitions: TopicPartition,
    index: int = 0,
    state: BundleState = BundleState.RUNNING,
) -> tuple[bytes, bytes]:
    remotes = dict.fromkeys(partitions, TopicName("A.t"))
    return encode_control(
        Assignment(
            index=index, epoch=_EPOCH, generation=generation, state=state, partitions=remotes
        )
    )


def test_an_older_assignment_is_not_obeyed() -> None:
    """The other partition is in another bundle by now."""

    async def work() -> None:
        older, newer = _assigned(4, _P, _Q), _assigned(5, _Q)
        follower = _Follower(older, newer, older)
        await follower.read()
        assigned = await follower.control.next_assignment()
        assert (assigned.generation, set(assigned.partitions)) == (5, {_Q})

    run(work())


def test_an_older_word_to_stop_does_not_stop_the_task_that_was_started_since() -> None:
    async def work() -> None:
        stop = _assigned(4, _P, state=BundleState.STOPPED)
        follower = _Follower(stop, _assigned(5, _P), stop)
        await follower.read()
        assert not follower.control.stop.is_set()

    run(work())


def test_a_task_waits_for_the_assignment_that_its_leader_wrote_before_it_started() -> None:
    """The topic has been compacted: only what came a second time is left."""

    async def work() -> None:
        follower = _Follower(_assigned(4, _P, _Q), _assigned(5, _Q), generation=5)
        await follower.read()
        assert (await follower.control.next_assignment()).generation == 5
        follower = _Follower(_assigned(4, _P, _Q), generation=5)
        await follower.read()
        assert follower.control._running is None

    run(work())


def test_settings_that_came_while_the_task_connected_count() -> None:
    async def work() -> None:
        settings = LiveSettings(epoch=_EPOCH, byte_rate_limit=9, flush_interval_s=2.0, number=1)
        follower = _Follower(encode_control(settings))
        await follower.read()
        late: list[LiveSettings] = []
        follower.control.pace(late.append)
        assert late == [settings]

    run(work())


def test_a_task_that_runs_logs_at_the_levels_of_its_leader_s_last_settings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def settings(number: int, level: str) -> tuple[bytes, bytes]:
        levels = {"positions": level}
        return encode_control(
            LiveSettings(
                epoch=_EPOCH,
                byte_rate_limit=-1,
                flush_interval_s=1.0,
                log_levels=levels,
                number=number,
            )
        )

    async def work() -> None:
        configure_task_logs()
        await _Follower(settings(1, "WARN"), settings(2, "DEBUG"), settings(1, "WARN")).read()
        structlog.get_logger().debug("positions.committed")
        structlog.get_logger().debug("source.stopped")

    run(work())
    told = capsys.readouterr().err
    assert "positions.committed" in told
    assert "source.stopped" not in told


def test_older_settings_and_shares_are_not_taken_over() -> None:
    def settings(number: int, limit: int) -> tuple[bytes, bytes]:
        return encode_control(
            LiveSettings(epoch=_EPOCH, byte_rate_limit=limit, flush_interval_s=1.0, number=number)
        )

    def shares(number: int, portion: float) -> tuple[bytes, bytes]:
        return encode_control(
            RateDivision(epoch=_EPOCH, portions={0: portion, 1: 1 - portion}, number=number)
        )

    async def work() -> None:
        follower = _Follower(
            _assigned(1, _P),
            _assigned(1, _Q, index=1),
            settings(1, 100),
            settings(2, 400),
            settings(1, 100),
            shares(3, 0.25),
            shares(4, 0.5),
            shares(3, 0.25),
        )
        await follower.read()
        assert [each.byte_rate_limit for each in follower.paced] == [100, 400]
        assert follower.limit.rate == 200

    run(work())
