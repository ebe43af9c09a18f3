"""Times and durations as users write them."""

from __future__ import annotations

import pytest

from mm2.core.times import age_text, parse_duration_ms, parse_time_ms, time_text


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


@pytest.mark.parametrize(
    ("time_ms", "text"),
    [(0, "1970-01-01T00:00:00.000Z"), (1_795_253_400_123, "2026-11-21T09:30:00.123Z")],
)
def test_times_are_written_as_they_are_read(time_ms: int, text: str) -> None:
    assert time_text(time_ms) == text
    assert parse_time_ms(text) == time_ms


@pytest.mark.parametrize(
    ("age_ms", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (3_299, "3.2 s"),
        (60_000, "1 min 0 s"),
        (245_000, "4 min 5 s"),
        (7_500_000, "2 h 5 min"),
        (262_800_000, "3 d 1 h"),
    ],
)
def test_ages_are_written_in_a_unit_of_their_size(age_ms: int, text: str) -> None:
    assert age_text(age_ms) == text
