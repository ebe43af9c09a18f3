"""A stream is cut into frames however the network cuts it."""

from __future__ import annotations

import struct

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
