"""Aligns periodic waits, so that an idle process seldom wakes up."""

from __future__ import annotations

import asyncio
import math


def aligned(seconds: float, *, at_least: bool = False) -> float:
    """
    How long a periodic wait of whole ``seconds`` is to last: it ends at the nearest second.

    Waits of all tasks and processes of a machine then end together, by its monotonic clock. To wake
    up costs an idle process more than most of what it then does. A loop keeps its period if its
    work takes less than half a second. Waits of other lengths stay as they are. Not for timeouts:
    those never end early.

    Args:
        at_least: it ends at the next second, and not before ``seconds`` are over.
    """
    if seconds < 1 or seconds % 1:
        return seconds
    now = asyncio.get_running_loop().time()
    end = now + seconds
    return (math.ceil(end) if at_least else round(end)) - now
