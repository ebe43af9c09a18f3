"""A stream is cut into frames however the network cuts it."""

from __future__ import annotations

import asyncio
import platform
import socket
import struct
import sys

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from mm2.kafka.wire.receiver import OutOfSync, Receiver

_LARGE = 40_000


class _Stream:
    """Collects the frames of what it is fed, for requests numbered from 0."""

    def __init__(self) -> None:
        self.frames: list[bytearray] = []
        self.error: Exception | None = None
        self.receiver = Receiver(
            expects=lambda: len(self.frames), on_frame=self.frames.append, on_lost=self._lost
        )

    def _lost(self, error: Exception | None) -> None:
        self.error = error

    def feed(self, data: bytes) -> None:
        while data and self.error is None:
            buffer = self.receiver.get_buffer(-1)
            assert buffer, "asyncio takes an empty buffer for an error"
            taken = data[: len(buffer)]
            buffer[: len(taken)] = taken
            data = data[len(taken) :]
            self.receiver.buffer_updated(len(taken))


def _frame(number: int, body: bytes) -> bytes:
    return struct.pack(">ii", len(body) + 4, number) + body


_bodies = st.binary(max_size=20) | st.integers(0, _LARGE)
"""A number stands for as many zeros: hypothesis does not like to print them all."""


@given(drawn=st.lists(_bodies, max_size=5), cuts=st.lists(st.integers(1, _LARGE), min_size=1))
def test_frames_do_not_depend_on_how_they_arrive(drawn: list[bytes | int], cuts: list[int]) -> None:
    bodies = [bytes(each) for each in drawn]
    stream, at, turn = _Stream(), 0, 0
    data = b"".join(_frame(number, body) for number, body in enumerate(bodies))
    while at < len(data):
        size = cuts[turn % len(cuts)]
        stream.feed(data[at : at + size])
        at, turn = at + size, turn + 1
    assert stream.frames == [struct.pack(">i", n) + body for n, body in enumerate(bodies)]
    assert stream.error is None


def test_a_large_frame_is_received_where_it_stays() -> None:
    stream = _Stream()
    data = _frame(0, bytes(1 << 20))
    stream.feed(data[:100])
    rest = stream.receiver.get_buffer(-1)
    assert len(rest) == len(data) - 100
    stream.feed(data[100:])
    assert rest.obj is stream.frames[0]


def test_answers_to_nothing_break_the_connection_before_memory_is_allocated() -> None:
    for head in (b"\x15\x03\x03\x00\x02\x02\x28\x00", _frame(7, b""), struct.pack(">ii", 3, 0)):
        stream = _Stream()
        stream.feed(head)
        assert isinstance(stream.error, OutOfSync)
        assert len(stream.receiver.get_buffer(-1)) < _LARGE


class _CountedReceiver(Receiver):
    """Counts how often it is woken up."""

    wake_ups = 0

    def buffer_updated(self, nbytes: int) -> None:
        self.wake_ups += 1
        super().buffer_updated(nbytes)


async def _wake_ups(frame: bytes) -> int:
    """How often the process is woken up until it has a frame that comes in pieces of 1 KiB."""
    has_come, has_ended = asyncio.Event(), asyncio.Event()
    receiver = _CountedReceiver(
        expects=lambda: 0,
        on_frame=lambda _: has_come.set(),
        on_lost=lambda _: has_ended.set(),
    )

    async def send(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for at in range(0, len(frame), 1024):
            writer.write(frame[at : at + 1024])
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()

    async with await asyncio.start_server(send, "127.0.0.1", 0) as server:
        loop, where = asyncio.get_running_loop(), server.sockets[0].getsockname()
        transport, _ = await loop.create_connection(lambda: receiver, *where)
        await has_come.wait()
        sock = transport.get_extra_info("socket")
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT) == 1
        await has_ended.wait()
    return receiver.wake_ups


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels are not asked for it")
@pytest.mark.parametrize(
    ("kernel", "least", "most"),
    [("6.1.0-13-amd64", 1, 50), ("4.18.0-553.el8_10.x86_64", 500, 2000), ("4.19+", 500, 2000)],
)
def test_a_large_frame_wakes_up_the_process_only_now_and_then(
    monkeypatch: pytest.MonkeyPatch, kernel: str, least: int, most: int
) -> None:
    monkeypatch.setattr(platform, "release", lambda: kernel)
    assert least <= uvloop.run(_wake_ups(_frame(0, bytes(1_500_000)))) <= most
