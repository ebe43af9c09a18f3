"""How much is behind, how long that takes, and which retention is too short for it."""

from __future__ import annotations

import pytest

from mm2.core.preflight.broker_versions import lacks, least_release
from mm2.core.preflight.copy_time import (
    Backlog,
    ShortRetention,
    copy_ms,
    short_retention,
    total_bytes,
)


def test_what_is_behind_has_its_part_of_the_logs_bytes() -> None:
    half = Backlog(records=50, offsets=100, size=1000)
    none = Backlog(records=0, offsets=0, size=0)
    unknown = Backlog(records=1, offsets=1, size=None)
    assert total_bytes([half, none]) == 500
    assert total_bytes([half, unknown]) is None
    assert copy_ms(500, 250) == 2000


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"retention.ms": "999"}, ShortRetention("retention.ms", 999)),
        ({"retention.ms": "1000"}, None),
        ({"retention.ms": "-1"}, None),
        ({}, None),
        ({"cleanup.policy": "compact", "retention.ms": "1"}, None),
        (
            {"cleanup.policy": "compact", "delete.retention.ms": "1"},
            ShortRetention("delete.retention.ms", 1),
        ),
        (
            {
                "cleanup.policy": "compact,delete",
                "retention.ms": "5000",
                "delete.retention.ms": "1",
            },
            ShortRetention("delete.retention.ms", 1),
        ),
    ],
)
def test_retention_shorter_than_copying(
    settings: dict[str, str], found: ShortRetention | None
) -> None:
    assert short_retention(settings, takes_ms=1000) == found


def test_releases_are_told_by_the_requests_that_they_brought() -> None:
    assert least_release({3: 13, 44: 1, 0: 12}) == "4.0"
    assert least_release({3: 7}) == "2.1"
    assert least_release({3: 5}) is None
    assert len(lacks({3: 7})) == 2
    assert lacks({3: 12, 44: 0}) == []
