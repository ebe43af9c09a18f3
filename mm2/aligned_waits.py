"""Aligns periodic waits, so that an idle process seldom wakes up."""

from __future__ import annotations

import asyncio
from typing import Final

_ALIGNED_S: Final = 0.5
_LEAST_S: Final = 1.0


def aligned(seconds: float) -> float:
    """
    How long a periodic wait of ``seconds`` is to last: it ends at the nearest half second.

    Waits of all tasks and processes of a machine then end together, by its monotonic clock. To wake
    up costs an idle process more than most of what it then does. A loop keeps its period if its
    work takes less than a quarter of a second. Waits of less than a second, and of no multiple of
    half a second, stay as they are. Not for timeouts: those never end early.
    """
    if seconds < _LEAST_S or seconds % _ALIGNED_S:
        return seconds
    now = asyncio.get_running_loop().time()
    return round((now + seconds) / _ALIGNED_S) * _ALIGNED_S - now
