"""Where records lie in a batch, and their digests."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flows.source.forward.recode import encode
from flows.source.forward.record_body import DecodedRecord, keyed_body
from mm2.kafka.wire.compression import UNCOMPRESSED
from mm2.kafka.wire.record_kernel import (
    END,
    HEADERS_AT,
    KEY_AT,
    KEY_SIZE,
    OFFSET,
    TIMESTAMP,
    VALUE_AT,
    VALUE_SIZE,
    digest,
    locate,
)

_KEY = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
_BODIES = [
    keyed_body(b"key", b"value", [(b"\xff\xfe", b"x" * 300)]),
    keyed_body(None, None),
    keyed_body(b"", b""),
    keyed_body(b"k" * 70_000, None, [(b"h", b"")]),
]


def _batch(bodies: list[bytes], first: int = 5) -> bytes:
    records = [DecodedRecord(first + at, 99 - at, body) for at, body in enumerate(bodies)]
    data = bytearray(encode(records, UNCOMPRESSED).data)
    data[:8] = first.to_bytes(8, "big")
    return bytes(data)


def test_fields_are_found_where_they_are() -> None:
    data = _batch(_BODIES) + _batch(_BODIES, first=1 << 40)
    rows = locate(data)
    assert [int(row[OFFSET]) for row in rows] == [*range(5, 9), *range(1 << 40, (1 << 40) + 4)]
    assert [int(row[TIMESTAMP]) for row in rows] == [99, 98, 97, 96] * 2
    first = rows[0]
    assert data[first[KEY_AT] : first[KEY_AT] + first[KEY_SIZE]] == b"key"
    assert data[first[VALUE_AT] : first[VALUE_AT] + first[VALUE_SIZE]] == b"value"
    assert data[first[HEADERS_AT] : first[END]].endswith(b"x" * 300)
    assert (rows[1][KEY_SIZE], rows[1][VALUE_SIZE], rows[2][KEY_SIZE]) == (-1, -1, 0)


def test_no_batches_have_no_records() -> None:
    assert len(locate(b"")) == 0


@pytest.mark.parametrize("at", [61, 66, 70, 8, 57])
def test_damaged_batches_are_refused(at: int) -> None:
    data = bytearray(_batch(_BODIES))
    data[at] ^= 0x55
    with pytest.raises(ValueError, match="cannot be read"):
        locate(bytes(data))


def test_digests_are_siphash_1_3_as_pythons_own_hashes() -> None:
    """Python hashes bytes so; without a seed its key is 0."""
    if sys.hash_info.algorithm != "siphash13":
        pytest.skip("this Python hashes in another way")
    sizes = range(1, 70)
    program = f"print(*[hash(bytes(range(size))) for size in {[*sizes]}])"
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONHASHSEED": "0"},
        capture_output=True,
        check=True,
        text=True,
    )
    data = _batch([keyed_body(bytes(range(size)), None) for size in sizes])
    found = [int(each) for each in digest(data, locate(data), (0, 0))[:, 0]]
    assert found == [int(word) % (1 << 64) for word in told.stdout.split()]


def test_a_digest_depends_on_field_key_and_content_and_none_has_none() -> None:
    data = _batch([keyed_body(b"a", b"a"), keyed_body(b"a", b"b"), keyed_body(None, None)])
    found, other = (digest(data, locate(data), key) for key in (_KEY, (1, 2)))
    assert found[0][0] == found[1][0]
    assert len({int(each) for each in (*found[0][:2], *found[1][:2])}) == 3
    assert found[0][0] != other[0][0]
    assert [int(each) for each in found[2]] == [0, 0, 0]
