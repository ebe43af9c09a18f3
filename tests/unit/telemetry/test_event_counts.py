"""What the process logs as wrong is counted, and labels are those of the registry."""

from __future__ import annotations

import io
import json

import pytest
import structlog

from mm2.metrics.event_series import of_events
from mm2.telemetry import logs
from mm2.telemetry.event_counts import OTHER, SYNC_FAILURES, EventCounts
from mm2.telemetry.events import EVENTS
from mm2.telemetry.logs import configure_logs, relay
from tests.support.scrapes import full_flow, scrape

log = structlog.get_logger()


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> EventCounts:
    """Of a process that logs from now on."""
    found = EventCounts()
    monkeypatch.setattr(logs, "EVENT_COUNTS", found)
    monkeypatch.setattr("mm2.metrics.event_series.EVENT_COUNTS", found)
    configure_logs(io.StringIO())
    return found


def test_warnings_and_worse_are_counted_by_event_and_level(counts: EventCounts) -> None:
    log.info("flow.led")
    log.warning("job.failed", job="sync")
    log.warning("job.failed", job="other")
    log.error("job.failed")
    log.critical("driver.failed")
    found = {key: count for key, count in counts.totals().items() if count}
    assert found == {
        ("job.failed", "warning"): 2,
        ("job.failed", "error"): 1,
        ("driver.failed", "critical"): 1,
    }


def test_events_of_tasks_are_counted_where_they_are_repeated(counts: EventCounts) -> None:
    line = {"mm2_task": True, "event": "kafka.throttled", "level": "warning"}
    assert relay(json.dumps(line))
    assert counts.totals()["kafka.throttled", "warning"] == 1


def test_names_that_nobody_has_listed_are_one_series(counts: EventCounts) -> None:
    for name in ("made.up", "other.made.up"):
        log.warning(name)
    assert counts.totals()[OTHER, "warning"] == 2
    assert {name for name, _ in counts.totals()} <= {*EVENTS, OTHER}


def test_what_alerts_look_at_is_there_from_the_start(counts: EventCounts) -> None:
    assert counts.totals() == {(name, "warning"): 0 for name in SYNC_FAILURES}
    log.warning("job.failed")
    found = scrape(full_flow())
    assert found.value("mm2_events_total", event="job.failed", level="warning") == 1
    assert found.value("mm2_events_total", event="topic_config.not_synced", level="warning") == 0
    (family,) = of_events()
    assert family.series.kind == "counter"
