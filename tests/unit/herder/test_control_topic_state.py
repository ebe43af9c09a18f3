"""What a control topic says, as a node that follows it keeps it."""

from __future__ import annotations

from structlog.testing import capture_logs

from mm2.herder.control.control_topic import ControlTopicState
from mm2.herder.election.version_guard import VersionGuard
from mm2.kafka.logs.records import Record
from mm2.protocol.control_codec import ControlRecord, encode_control
from mm2.protocol.control_records import Lease


def _record(key: bytes, value: bytes | None) -> Record:
    return Record(topic="control", partition=0, offset=0, timestamp_ms=0, key=key, value=value)


def test_whom_a_lease_of_a_newer_release_names_is_heard_of_and_we_must_not_lead() -> None:
    board = ControlTopicState("B", {}, "control")
    heard: list[ControlRecord] = []
    with board.subscribe_entries(heard.append):
        board._take(_record(b"lease", b'{"version":2,"epoch":7,"owner":"n","more":1}'))
        assert heard == [Lease(epoch=7, owner="n")], "a leader gives way to it"
        newer = [board.newer]
        board._take(_record(*encode_control(Lease(epoch=8, owner="m"))))
        newer.append(board.newer)
    assert newer == ["control record 'lease' is of version 2, we know 1", None]
    assert board.entries == (Lease(epoch=8, owner="m"),)


def test_a_node_may_lead_again_once_a_newer_record_is_taken_back() -> None:
    board = ControlTopicState("B", {}, "control")
    heard: list[str] = []
    understanding = VersionGuard(
        board, caught_up=lambda: heard.append("caught up"), rejoin=lambda: heard.append("rejoin")
    )
    board._take(_record(b"config", b'{"version":2}'))
    understanding.check()
    assert heard == [], "what was there is not read yet"
    board.caught_up.set()
    with capture_logs() as logged:
        understanding.check()
        understanding.check()
    assert [each["event"] for each in logged] == ["flow.too_new"]
    assert heard == ["rejoin"], "it must not lead, not even if nobody else could"
    board._take(_record(b"config", None))
    understanding.check()
    understanding.check()
    assert heard == ["rejoin", "rejoin", "caught up"]


def test_a_leader_says_that_it_does_not_understand_a_record_when_that_comes() -> None:
    board = ControlTopicState("B", {}, "control")
    heard: list[str] = []
    understanding = VersionGuard(
        board, caught_up=lambda: heard.append("caught up"), rejoin=lambda: heard.append("rejoin")
    )
    board.caught_up.set()
    understanding.check()
    assert heard == ["caught up"]
    board._take(_record(b"connector-MirrorSourceConnector", b'{"version":2}'))
    with capture_logs() as logged:
        understanding.check()
        board._take(_record(b"config", b'{"version":2}'))
        understanding.check()
    assert [each["event"] for each in logged] == ["flow.too_new"]
    assert heard == ["caught up", "rejoin"]
    assert not understanding.is_complete


def test_who_comes_later_reads_what_counts_now_and_then_all_that_comes() -> None:
    board = ControlTopicState("B", {}, "control")
    former, other = _record(b"flow", b'{"state":"running"}'), _record(b"connector-x", b"{}")
    newer, gone = _record(b"flow", b'{"state":"stopped"}'), _record(b"connector-x", None)
    lease = _record(*encode_control(Lease(epoch=8, owner="m")))
    for record in (former, other, lease, newer):
        board._take(record)
    read: list[Record] = []
    with board.subscribe_records(read.append):
        assert read == [other, lease, newer]
        board._take(gone)
    board._take(former)
    assert read == [other, lease, newer, gone]
    with board.subscribe_records(read.append):
        assert read[4:] == [lease, former]
