"""What a control topic says, as a node that follows it keeps it."""

from __future__ import annotations

from mm2.herder.board import ControlBoard
from mm2.herder.control import Entry, Lease, encode_lease
from mm2.herder.control_steering import SteeringEntry
from mm2.kafka.records import Record


def _record(key: bytes, value: bytes) -> Record:
    return Record(topic="control", partition=0, offset=0, timestamp_ms=0, key=key, value=value)


def test_whom_a_lease_of_a_newer_release_names_is_heard_of_and_we_must_not_lead() -> None:
    board = ControlBoard("B", {}, "control")
    heard: list[Entry | SteeringEntry] = []
    with board.heard_by(heard.append):
        board._take(_record(b"lease", b'{"version":2,"epoch":7,"owner":"n","more":1}'))
        assert heard == [Lease(epoch=7, owner="n")], "a leader gives way to it"
        newer = [board.newer]
        board._take(_record(*encode_lease(Lease(epoch=8, owner="m"))))
        newer.append(board.newer)
    assert newer == ["control record 'lease' is of version 2, we know 1", None]
    assert board.entries == (Lease(epoch=8, owner="m"),)
