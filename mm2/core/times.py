"""Points in time and durations as users write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_SECOND_MS: Final = 1000
_DURATION: Final = re.compile(
    r"P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,](\d{1,9}))?S)?)?", re.IGNORECASE
)


def parse_time_ms(text: str) -> int:
    """
    Reads an ISO 8601 time, as Kafka's tools do in UTC if no zone is given; returns ms since 1970.

    Raises:
        ValueError: the text is no such time.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no time like 2026-11-21T09:30:00Z") from error
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (aware - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1)


def parse_duration_ms(text: str) -> int:
    """
    Reads an ISO 8601 duration of days and shorter units, such as P1D or PT1H30M, in ms.

    ``java.time.Duration`` takes a few forms more, with signs; none is of use where this is used.

    Raises:
        ValueError: the text is no such duration.
    """
    found = _DURATION.fullmatch(text)
    if found is None or len(text) < len("P1D"):
        raise ValueError(f"{text!r} is no duration like PT1H or P7D")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[:4])
    fraction = int((found[5] or "").ljust(9, "0")[:3] or 0)
    return ((days * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1000 + fraction


def time_text(time_ms: int) -> str:
    """Writes a time in ms since 1970 as ISO 8601 in UTC, such as 2026-11-21T09:30:00.250Z."""
    time = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=time_ms)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def age_text(age_ms: int) -> str:
    """Writes a duration for people: 250 ms, 3.2 s, 4 min 5 s, 2 h 5 min, 3 d 1 h."""
    minutes, seconds = divmod(age_ms // _SECOND_MS, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    if minutes:
        return f"{minutes} min {seconds} s"
    return f"{age_ms} ms" if age_ms < _SECOND_MS else f"{age_ms // 100 / 10} s"
