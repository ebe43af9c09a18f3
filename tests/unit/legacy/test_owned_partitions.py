"""What a stream does with partitions that the group takes away, and in which order."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import pytest

from mm2.kafka.wire.compiled import compile_division
from tests.support.batches import Plain, write_batch
from tests.support.stream_bench import WHERE, StreamBench
from tests.support.virtual_time import run

_WAYS: Final = pytest.mark.parametrize(
    "way",
    [
        pytest.param({}, id="as-bytes"),
        pytest.param({"handler": "tests.support.user_handlers:to_send"}, id="handler"),
        pytest.param({"repartitions": True}, id="repartition"),
    ],
)
"""Of copying."""


@pytest.fixture(autouse=True)
def compiled() -> None:
    compile_division(wait=True)


def _batch(first: int) -> bytes:
    return write_batch(
        [Plain(offset=n, timestamp=5, key=b"k", value=b"%d" % n) for n in (first, first + 1)]
    )


async def _revoked(bench: StreamBench) -> asyncio.Task[None]:
    """A revocation that has begun while a copy was under way, and a fetch; notes begin anew."""
    async with asyncio.timeout(60):
        await bench.target.arrived.wait()
    await asyncio.sleep(0.5)
    bench.notes.clear()
    return asyncio.create_task(bench.parts.revoked([WHERE]), name="revoked")


@_WAYS
def test_on_a_revocation_copies_arrive_offsets_are_committed_and_then_the_listener_is_told(
    monkeypatch: pytest.MonkeyPatch, way: dict[str, Any]
) -> None:
    async def go() -> None:
        bench = StreamBench(monkeypatch, **way)
        bench.target.goes_on.clear()
        bench.source.batches = [_batch(0), _batch(2), _batch(4)]
        async with bench.running():
            revoking = await _revoked(bench)
            await asyncio.sleep(10)
            assert bench.notes == [], (
                "nothing is fetched or committed, and the listener is not told"
            )
            bench.target.goes_on.set()
            await revoking
            await asyncio.sleep(10)
        assert bench.notes == ["acknowledged", f"commit {WHERE} at 2", f"listener: revoked {WHERE}"]
        assert bench.values == [b"0", b"1"]

    run(go())


@_WAYS
def test_what_the_target_has_not_acknowledged_in_time_is_not_committed(
    monkeypatch: pytest.MonkeyPatch, way: dict[str, Any]
) -> None:
    async def go() -> None:
        bench = StreamBench(monkeypatch, **way)
        bench.source.batches = [_batch(0)]
        async with bench.running():
            await asyncio.sleep(5)
            assert bench.values == [b"0", b"1"]
            bench.target.goes_on.clear()
            bench.target.arrived.clear()
            bench.source.batches = [_batch(2)]
            await (await _revoked(bench))
            assert bench.notes == [f"commit {WHERE} at 2", f"listener: revoked {WHERE}"]

    run(go())


@_WAYS
def test_of_partitions_that_another_stream_may_have_nothing_is_committed(
    monkeypatch: pytest.MonkeyPatch, way: dict[str, Any]
) -> None:
    async def go() -> None:
        bench = StreamBench(monkeypatch, **way)
        bench.source.batches = [_batch(0)]
        async with bench.running():
            await asyncio.sleep(5)
            bench.notes.clear()
            await bench.parts.lost([WHERE])
            await asyncio.sleep(10)
        assert bench.notes == [f"listener: revoked {WHERE}"]

    run(go())
