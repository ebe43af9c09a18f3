"""The ring of recent events that the status page shows."""

from __future__ import annotations

import io

import structlog

from mm2.telemetry.logs import configure_logs
from mm2.telemetry.recent_events import RECENT_EVENTS, RecentEvents


def test_the_newest_events_come_first_and_the_oldest_go() -> None:
    events = RecentEvents(kept=2)
    for number in range(3):
        events(None, "info", {"event": f"event.{number}", "flow": "A->B", "count": number})
    assert [each.name for each in events.newest(10)] == ["event.2", "event.1"]
    (newest,) = events.newest(1)
    assert (newest.flow, newest.details) == ("A->B", "count=2")


def test_events_after_a_number_come_in_their_order_also_from_the_next_process() -> None:
    first = RecentEvents(clock=lambda: 1_000_000_000)
    second = RecentEvents(clock=lambda: 2_000_000_000)
    for number in range(3):
        first(None, "info", {"event": f"event.{number}"})
    second(None, "info", {"event": "event.3"})
    start, *rest = first.after(0)
    assert [each.name for each in rest] == ["event.1", "event.2"]
    assert first.after(start.number) == rest
    assert [each.name for each in second.after(rest[-1].number)] == ["event.3"]


def test_a_long_field_is_cut() -> None:
    events = RecentEvents()
    events(None, "error", {"event": "x", "exception": "y" * 10_000})
    assert len(next(events.newest(1)).details) < 400


def test_what_the_process_logs_is_kept() -> None:
    before = structlog.get_config()
    try:
        configure_logs(io.StringIO())
        structlog.get_logger().warning("flow.refused", flow="A->B")
    finally:
        structlog.configure(**before)
    newest = next(RECENT_EVENTS.newest(1))
    assert (newest.name, newest.level, newest.flow) == ("flow.refused", "warning", "A->B")
    assert newest.time.endswith("Z")
