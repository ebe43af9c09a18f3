"""Times and durations as users write them."""

from __future__ import annotations

import pytest

from mm2.core.times import parse_duration_ms, parse_time_ms


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01.5", 1500),
        ("1970-01-02", 86_400_000),
        ("1970-01-01T02:00:00+02:00", 0),
        ("2026-11-21T09:30:00.123Z", 1_795_253_400_123),
    ],
)
def test_times_are_in_utc_unless_a_zone_is_given(text: str, milliseconds: int) -> None:
    assert parse_time_ms(text) == milliseconds


@pytest.mark.parametrize("text", ["", "yesterday", "1700000000000000", "2026-13-01"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no time"):
        parse_time_ms(text)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("PT1H", 3_600_000),
        ("P7D", 604_800_000),
        ("p1dt2h3m4.5s", 93_784_500),
        ("PT0S", 0),
        ("PT0.001S", 1),
    ],
)
def test_durations_are_read(text: str, milliseconds: int) -> None:
    assert parse_duration_ms(text) == milliseconds


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "1H", "PT-1H", "P1Y", "PT1H "])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration"):
        parse_duration_ms(text)
