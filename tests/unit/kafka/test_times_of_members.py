"""How long a group has patience with a worker of ours, as its file says."""

from __future__ import annotations

import pytest

from mm2.connect.connector_store import TopicStore
from mm2.connect.worker_config import WorkerConfig
from mm2.errors import ConfigErrors
from mm2.kafka.groups.membership import MemberTimes


@pytest.mark.parametrize(
    ("said", "times"),
    [
        ({}, (6_000, 2_000, 6_000)),
        ({"session.timeout.ms": "20000"}, (20_000, 2_000, 20_000)),
        ({"session.timeout.ms": "9000", "heartbeat.interval.ms": "5000"}, (9_000, 3_000, 9_000)),
        ({"rebalance.timeout.ms": " 45000 "}, (6_000, 2_000, 45_000)),
    ],
)
def test_what_the_user_says_counts(said: dict[str, str], times: tuple[int, int, int]) -> None:
    assert MemberTimes.of(said) == times


def _worker(**times: str) -> WorkerConfig:
    return WorkerConfig(
        raw={
            "group.id": "g",
            **{f"{what}.storage.topic": what for what in ("config", "offset", "status")},
            **{key.replace("_", "."): value for key, value in times.items()},
        },
        is_distributed=True,
    )


def test_the_group_of_a_connect_worker_is_told_them() -> None:
    """Its session was 10 s whatever the file said."""
    said = {"session_timeout_ms": "30000", "heartbeat_interval_ms": "2000"}
    store = TopicStore(_worker(**said, rebalance_timeout_ms="40000"))
    assert store._group._membership._times == (30_000, 2_000, 40_000)


def test_a_time_that_is_no_number_is_refused() -> None:
    with pytest.raises(ConfigErrors, match=r"session\.timeout\.ms"):
        _worker(session_timeout_ms="soon")
