"""Log events of tasks on other machines reach the driver's log through the progress topic."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from flows.source.event_copies import EventCopies
from mm2.errors import Unavailable
from mm2.protocol.progress_records import is_of_bundle
from mm2.protocol.task_events import decode_events, encode_events, is_of_events
from mm2.telemetry.logs import configure_task_logs, relay
from tests.support.specs import sample_spec


@dataclass
class _Writer:
    """Takes down what is written; refuses while it is away."""

    is_away: bool = False
    records: list[tuple[bytes, bytes]] = field(default_factory=list)

    async def send(self, topic: str, key: bytes, value: bytes, *, partition: int) -> None:
        assert (topic, partition) == (sample_spec().progress_topic, 0)
        await asyncio.sleep(0)
        if self.is_away:
            raise Unavailable("B", "away")
        self.records.append((key, value))

    def lines(self) -> list[str]:
        values = [value for key, value in self.records if is_of_events(key)]
        return [line for value in values for line in decode_events(value)]


@pytest.fixture
def _defaults() -> Iterator[None]:
    yield
    structlog.reset_defaults()


async def _flush(copies: EventCopies, writer: Any) -> None:
    await copies.flush(sample_spec(), writer)


@pytest.mark.usefixtures("_defaults")
async def test_what_a_task_logs_is_repeated_with_its_fields() -> None:
    copies, writer = EventCopies(), _Writer()
    configure_task_logs(copies.add)
    structlog.get_logger().warning("source.gap_found", topic="t", partition=3)
    await _flush(copies, writer)
    structlog.reset_defaults()
    with capture_logs() as logs:
        assert [relay(line) for line in writer.lines()] == [True]
    (event,) = logs
    assert event.items() >= {"event": "source.gap_found", "topic": "t", "partition": 3}.items()
    assert event["log_level"] == "warning"


async def test_lines_wait_for_a_target_that_is_away_and_come_in_order() -> None:
    copies, writer = EventCopies(), _Writer(is_away=True)
    written = [f"line {number}" for number in range(250)]
    for line in written:
        copies.add(line)
    await _flush(copies, writer)
    assert writer.records == []
    writer.is_away = False
    await asyncio.gather(_flush(copies, writer), _flush(copies, writer))
    assert writer.lines() == written


def test_their_records_are_no_reports_of_tasks() -> None:
    key, _ = encode_events(7, ["x"])
    assert is_of_events(key)
    assert not is_of_bundle(key)
    assert not is_of_events(b"bundle-7")
    assert not is_of_events(None)


@pytest.mark.parametrize(
    "fields",
    [
        {"level": "info"},
        {"level": ["info"], "event": "x"},
        {"level": "loud", "event": "x"},
        {"level": "info", "event": "x", "self": 1},
    ],
)
def test_lines_of_anybody_else_are_passed_over(fields: dict[str, object]) -> None:
    line = json.dumps({"mm2_task": True, **fields})
    assert not relay(line)
    assert not relay(line[:-3])
