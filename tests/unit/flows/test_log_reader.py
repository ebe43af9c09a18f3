"""A range of a partition, as it is read in the face of errors, transactions and deletions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import pytest

from flows.source.forward.record_batch import CONTROL, TRANSACTIONAL
from flows.verify.log_reader import LogPart, LogReader
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.wire.compression import CODEC_NAMES
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.record_kernel import OFFSET, VALUE_AT, VALUE_SIZE, locate
from mm2.kafka.wire.wire_client import WireClient
from tests.support import virtual_time
from tests.support.batches import write_legacy
from tests.support.fake_log import WHERE, FakeLog, batch


def _read(log: FakeLog, span: tuple[int, int], *, read_committed: bool = False) -> list[LogPart]:
    async def parts() -> list[LogPart]:
        client = cast("WireClient", log)
        reader = LogReader(client, WHERE, span, read_committed=read_committed)
        return [part async for part in reader.parts()]

    return virtual_time.run(parts())


def _values(parts: Iterable[LogPart]) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for part in parts:
        rows: Any = locate(part.data)
        for row in rows:
            start = row[VALUE_AT]
            found[int(row[OFFSET])] = part.data[start : start + row[VALUE_SIZE]]
    return found


def test_batches_of_all_codecs_are_read_in_order_until_the_end() -> None:
    batches = {
        3 * number: batch(3 * number, [b"x%d" % number] * 3, number)
        for number in range(len(CODEC_NAMES))
    }
    found = _values(_read(FakeLog(batches), (0, 15)))
    assert found == {offset: b"x%d" % (offset // 3) for offset in range(15)}


def test_nothing_is_asked_for_behind_the_end() -> None:
    log = FakeLog({0: batch(0, [b"a"] * 5), 5: batch(5, [b"b"])})
    assert max(_values(_read(log, (0, 5)))) == 4
    assert _read(log, (5, 5)) == []


def test_markers_and_aborted_records_are_left_out() -> None:
    batches = {
        0: batch(0, [b"aborted"], attributes=TRANSACTIONAL),
        1: batch(1, [b"marker"], attributes=TRANSACTIONAL | CONTROL),
        2: batch(2, [b"kept"]),
    }
    log = FakeLog(batches, aborted=((7, 0),))
    assert _values(_read(log, (0, 3), read_committed=True)) == {2: b"kept"}
    assert _values(_read(log, (0, 3))) == {0: b"aborted", 2: b"kept"}


def test_errors_that_pass_are_waited_for_and_others_are_not() -> None:
    log = FakeLog({0: batch(0, [b"a"])})
    log.errors = [Code.NOT_LEADER_OR_FOLLOWER, Code.LEADER_NOT_AVAILABLE]
    assert _values(_read(log, (0, 1))) == {0: b"a"}
    assert log.refreshed == 2
    log.errors = [Code.UNSUPPORTED_COMPRESSION_TYPE]
    with pytest.raises(ClusterError, match="UNSUPPORTED_COMPRESSION_TYPE"):
        _read(log, (0, 1))
    log.errors = [Code.TOPIC_AUTHORIZATION_FAILED] * 10_000
    with pytest.raises(Unavailable, match="TOPIC_AUTHORIZATION_FAILED"):
        _read(log, (0, 1))


def test_a_cluster_without_any_broker_is_waited_for() -> None:
    log = FakeLog({0: batch(0, [b"a"])})
    log.errors = [Code.NOT_LEADER_OR_FOLLOWER]
    log.failed_refreshes = 5
    assert _values(_read(log, (0, 1))) == {0: b"a"}
    assert log.refreshed == 1


def test_records_that_are_deleted_meanwhile_are_a_gap() -> None:
    parts = _read(FakeLog({10: batch(10, [b"a"])}), (0, 11))
    assert _values(parts) == {10: b"a"}
    assert any(part.is_behind_gap for part in parts)


def test_a_log_that_ends_too_soon_is_an_error() -> None:
    with pytest.raises(Unavailable, match="no records from offset 1 on"):
        _read(FakeLog({0: batch(0, [b"a"])}), (0, 2))


@pytest.mark.parametrize(("magic", "codec"), [(0, 0), (1, 0), (1, 1)])
def test_formats_before_record_batches_are_read(magic: int, codec: int) -> None:
    messages = [(offset, 1, None, b"x%d" % offset) for offset in (4, 5, 6)]
    log = FakeLog({4: write_legacy(messages, magic=magic, codec_number=codec)})
    assert _values(_read(log, (4, 7))) == {offset: b"x%d" % offset for offset in (4, 5, 6)}


def test_a_damaged_batch_is_refused() -> None:
    data = bytearray(batch(0, [b"a"]))
    data[-1] ^= 1
    with pytest.raises(ValueError, match="checksum"):
        _read(FakeLog({0: bytes(data)}), (0, 1))
