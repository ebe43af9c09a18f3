"""Memory that was freed, and is kept to be used again."""

from __future__ import annotations

import ctypes
from typing import Final

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
"""Numbers of settings, in malloc.h of the GNU C library."""

_MOST_KEPT: Final = 32 << 20
_LARGEST_KEPT: Final = 8 << 20
"""More than any buffer of the records that are changed at a time."""


def keep_freed_memory() -> bool:
    """
    Has this process keep what it frees, within limits; says whether the C library can do that.

    It would give megabytes back each time. The system then fills each page with zeros again when
    the next records need it, which takes as long as to decode them.
    """
    setting = getattr(ctypes.CDLL(None), "mallopt", None)
    return setting is not None and all(
        setting(number, value) == 1
        for number, value in ((_TRIM_THRESHOLD, _MOST_KEPT), (_MMAP_THRESHOLD, _LARGEST_KEPT))
    )
