"""Counts of a flow go on under the next leader."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import cast

import pytest

from mm2.core.copy_totals import CopyTotal
from mm2.core.model import ClusterAlias, TopicName, TopicPartition
from mm2.errors import Unavailable
from mm2.herder.election.leadership_term import LeadershipTerm
from mm2.herder.status.totals_keeper import TotalsKeeper
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.kafka.logs.records import Record
from mm2.protocol.progress_records import BundleProgress, encode_progress
from tests.support.seen_flow import NOW, PLACES, SeenFlow, place


class _Topic:
    """The control topic, and a writer of it."""

    def __init__(self) -> None:
        self.records: list[tuple[bytes, bytes | None]] = []
        self.is_away = False

    async def send_all(
        self, topic: str, records: Iterable[tuple[bytes, bytes | None]], *, partition: int
    ) -> None:
        assert (topic, partition) == ("control", 0)
        if self.is_away:
            raise Unavailable(ClusterAlias("B"), "away")
        self.records += records

    def read_by(self, seen: SeenFlow) -> None:
        for key, value in self.records:
            seen.control(key, value)


class _Term:
    def __init__(self, topic: _Topic) -> None:
        self.writer = topic
        self.is_suspended = False


def _keeper(topic: _Topic, snapshot: FlowSnapshot) -> tuple[TotalsKeeper, _Term]:
    term = _Term(topic)
    return TotalsKeeper("control", cast("LeadershipTerm", term), snapshot), term


def _records(snapshot: FlowSnapshot) -> list[int]:
    return [snapshot.totals.get(each, CopyTotal()).counts.records for each in PLACES]


async def test_what_is_stored_is_what_the_next_leader_counts_from() -> None:
    first, topic = SeenFlow(), _Topic()
    first.report(0, place(0, records=5, position=4, first=0), place(1, records=2))
    keeper, _ = _keeper(topic, first.snapshot)
    await keeper.store()
    stored = len(topic.records)
    await keeper.store()
    assert len(topic.records) == stored, "nothing is new"

    later = SeenFlow()
    topic.read_by(later)
    later.report(0, place(0, records=3, position=10, first=8), epoch=8, at_ms=NOW + 1)
    assert _records(later.snapshot) == [11, 2, 0], "5, 3 untold, and 3"


async def test_reports_that_are_read_again_count_once() -> None:
    seen = SeenFlow()
    for offset, count in ((100, 5), (101, 9), (100, 5), (101, 9), (102, 10)):
        _replay(seen.snapshot, offset, count)
    assert _records(seen.snapshot)[0] == 10


def _replay(snapshot: FlowSnapshot, offset: int, count: int) -> None:
    told = BundleProgress(
        bundle=0,
        epoch=7,
        generation=1,
        time_ms=NOW,
        pid=1,
        partitions=(place(0, records=count, position=count - 1, first=0),),
    )
    key, value = encode_progress(told)
    snapshot.apply_progress(
        Record(topic="p", partition=0, offset=offset, timestamp_ms=NOW, key=key, value=value)
    )


@pytest.mark.parametrize("trouble", ["away", "doubt"])
async def test_what_could_not_be_stored_is_stored_later(trouble: str) -> None:
    seen, topic = SeenFlow(), _Topic()
    seen.report(0, place(0, records=5))
    keeper, term = _keeper(topic, seen.snapshot)
    topic.is_away, term.is_suspended = trouble == "away", trouble == "doubt"
    await keeper.store()
    assert topic.records == []
    topic.is_away = term.is_suspended = False
    await keeper.store()
    assert topic.records


async def test_nothing_is_stored_before_all_is_known() -> None:
    """It would be less than what an earlier leader has stored."""
    seen, topic = SeenFlow(), _Topic()
    seen.report(0, place(0, records=5))
    keeper, _ = _keeper(topic, seen.snapshot)
    await keeper.end()
    assert topic.records == []
    running = asyncio.create_task(keeper.run())
    await asyncio.sleep(0)
    running.cancel()
    await keeper.end()
    assert topic.records


async def test_partitions_that_nobody_has_for_long_are_forgotten() -> None:
    seen, topic = SeenFlow(), _Topic()
    seen.snapshot.totals.clear()
    gone = TopicPartition(TopicName("gone"), 0)
    seen.report(0, place(0, records=5))
    seen.snapshot.totals[gone] = seen.snapshot.totals[PLACES[0]]
    await _keeper(topic, seen.snapshot)[0].store()
    assert [(key, value is None) for key, value in sorted(topic.records)] == [
        (b"copied-0-gone", True),
        (b"copied-0-t", False),
    ]


def test_damaged_records_are_passed_over() -> None:
    seen = SeenFlow()
    before = _records(seen.snapshot)
    for value in (b"{}", b"\xff", b'{"topic":"t","partitions":[{"partition":0}]}', None):
        seen.control(b"copied-0-t", value)
    assert _records(seen.snapshot) == before
