"""What comes out of compressed batches, and how much of it may."""

from __future__ import annotations

import gzip
import random
import tracemalloc
from typing import Any
from unittest.mock import Mock

import cramjam
import pytest

from mm2.kafka.wire.compression import CODEC_NAMES, Compression, TooLarge, compress, decompress

_CODECS = pytest.mark.parametrize("codec", [1, 2, 3, 4], ids=CODEC_NAMES[1:])


@_CODECS
@pytest.mark.parametrize("size", [0, 1, 1_000, 300_000, 5_000_000, 20_000_000])
@pytest.mark.parametrize("is_dense", [True, False])
def test_exactly_so_much_may_come_out(codec: int, size: int, *, is_dense: bool) -> None:
    plain = random.Random(size).randbytes(size) if is_dense else bytes(size)
    packed = compress(Compression(codec), plain)
    assert decompress(codec, packed) == plain
    assert decompress(codec, memoryview(packed), most=max(size, 1)) == plain
    if size > 1:
        with pytest.raises(TooLarge, match=f"more than {size - 1} bytes"):
            decompress(codec, packed, most=size - 1)


@_CODECS
def test_what_may_not_come_out_takes_no_memory(codec: int) -> None:
    packed = compress(Compression(codec), bytes(64 << 20))
    tracemalloc.start()
    with pytest.raises(TooLarge):
        decompress(codec, packed, most=1 << 20)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < (8 << 20) + 5 * len(packed)


@_CODECS
def test_what_ends_too_soon_is_damaged_and_not_too_large(codec: int) -> None:
    packed = compress(Compression(codec), random.Random(1).randbytes(10_000))
    with pytest.raises(ValueError, match=f"does not decompress as {CODEC_NAMES[codec]}") as error:
        decompress(codec, packed[:-20])
    assert not isinstance(error.value, TooLarge)


@pytest.mark.parametrize(("codec", "library"), [(3, cramjam.lz4), (4, cramjam.zstd)])
def test_a_batch_of_log_lines_is_unpacked_once(
    codec: int, library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second attempt with more room would take as long again."""
    line = b"level=INFO host=app-1 method=GET path=/users/%d status=200 agent=curl/8 took=%d ms\n"
    plain = b"".join(line % (n % 9_973, n) for n in range(20_000))
    packed = compress(Compression(codec), plain)
    assert len(plain) > 4 * len(packed)
    attempts = Mock(wraps=library.decompress_into)
    monkeypatch.setattr(library, "decompress_into", attempts)
    assert decompress(codec, packed) == plain
    assert attempts.call_count == 1


def test_snappy_without_javas_framing_is_bounded_too() -> None:
    packed = bytes(cramjam.snappy.compress_raw(bytes(100_000)))
    assert decompress(2, packed, most=100_000) == bytes(100_000)
    with pytest.raises(TooLarge):
        decompress(2, packed, most=99_999)


def test_the_parts_of_a_gzip_stream_are_bounded_together() -> None:
    packed = gzip.compress(bytes(600)) + gzip.compress(bytes(400)) + b"\0\0"
    assert decompress(1, packed, most=1_000) == bytes(1_000)
    with pytest.raises(TooLarge):
        decompress(1, packed, most=999)
    with pytest.raises(ValueError, match="more than 1000 parts"):
        decompress(1, gzip.compress(b"") * 2_000)
