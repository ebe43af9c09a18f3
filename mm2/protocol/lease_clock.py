"""The clock by which leases run out."""

from __future__ import annotations

import time
from typing import Final

_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def seconds() -> float:
    """
    Seconds since some moment; also of those, where the system counts them, that the machine slept.

    Nobody sets this clock. A virtual machine whose host pauses it may not see that time passes.
    """
    return time.clock_gettime(_CLOCK)
