"""What contains other parts of a stop may take longer than they do."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mm2 import stop_deadlines as deadlines
from mm2.config.keys.key_table import TABLE

_DEFAULT_MS = int(TABLE["task.shutdown.graceful.timeout.ms"].mm2_default or 0)
_DRAINS_S = [0, _DEFAULT_MS / 1000, 60]


def test_a_process_ends_within_its_budget_unless_the_user_lets_tasks_drain_for_longer() -> None:
    after_herders_s = deadlines.REST_S + deadlines.JVM_S + deadlines.CLASSES_S
    drain = timedelta(milliseconds=_DEFAULT_MS)
    assert deadlines.herders_s(drain) + after_herders_s <= deadlines.PROCESS_S
    long = timedelta(seconds=60)
    assert deadlines.herders_s(long) > long.total_seconds()


@pytest.mark.parametrize("drain_s", _DRAINS_S)
def test_a_task_that_has_drained_can_commit_or_abort_before_its_bundle_is_cut_off(
    drain_s: float,
) -> None:
    commit_s = max(deadlines.POSITIONS_S, deadlines.TRANSACTION_S, deadlines.ABORT_S)
    assert drain_s + commit_s + deadlines.SYNCS_S <= deadlines.bundle_s(drain_s)
    assert deadlines.bundle_s(drain_s) > deadlines.OPENING_S


@pytest.mark.parametrize("drain_s", _DRAINS_S)
def test_bundles_connectors_and_herders_end_in_this_order(drain_s: float) -> None:
    drain = timedelta(seconds=drain_s)
    ends_s = [
        drain_s,
        deadlines.bundle_s(drain_s),
        deadlines.connectors_s(drain),
        deadlines.herders_s(drain),
    ]
    assert ends_s == sorted(set(ends_s))
    assert ends_s[-1] < deadlines.FLOW_EVERYWHERE_S or drain_s > deadlines.PROCESS_S


def test_a_herder_whose_target_is_away_ends_in_time() -> None:
    """Its tasks cannot be told to stop, and are cut off at once; a busy machine adds to each."""
    busy_s = 3
    away_s = (
        2 * deadlines.CONTROL_WRITE_S
        + deadlines.STATUS_S
        + deadlines.LEASE_RENEWAL_S
        + deadlines.LEASE_RELEASE_S
    )
    # The group is left, and the writer closed, at the same time.
    writer_s = deadlines.WRITER_FLUSH_S + 2 * deadlines.WRITER_CLOSE_S
    assert away_s + max(deadlines.MEMBERSHIP_S, writer_s) + busy_s <= deadlines.herders_s(
        timedelta()
    )


def test_a_stream_ends_before_its_process_gives_it_up() -> None:
    """A busy machine adds to its parts, and so does the end of connections to the clusters."""
    busy_s = 3
    assert deadlines.STREAM_S + busy_s <= deadlines.STREAMS_S
    assert deadlines.STREAM_FAILED_DRAIN_S < deadlines.STREAM_DRAIN_S
    assert deadlines.ZOOKEEPER_ANSWER_S < deadlines.STREAM_COMMIT_S


def test_streams_links_and_the_jvm_end_within_the_time_of_a_process() -> None:
    after_streams_s = deadlines.REST_S + deadlines.LINKS_S + deadlines.JVM_S + deadlines.CLASSES_S
    assert deadlines.STREAMS_S + after_streams_s <= deadlines.PROCESS_S
