"""How much of what waits in a sender is tried to be made into one batch, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_UNBOUNDED: Final = 1 << 31
_FIRST_PAUSE: Final = 8
_LONGEST_PAUSE: Final = 1_024


@dataclass(slots=True)
class MergeLimit:
    """
    What a sender learns of its merges.

    Compressed batches do not say how large they are when they are unpacked, nor how they were
    compressed. A merge that fails costs as much as one that does not. So after each failure half as
    many bytes are tried, later and later; a success ends the pauses, and more is tried again.

    Attributes:
        limit: bytes of more than two batches that may become one; two may always be tried.
    """

    limit: int = _UNBOUNDED
    _pause: int = 0
    _left: int = 0

    def is_paused(self) -> bool:
        """Whether the next batch goes as it is; asked once for each."""
        is_paused = self._left > 0
        self._left -= is_paused
        return is_paused

    def failed(self, size: int) -> None:
        """Batches of so many bytes were too large together, or would have grown."""
        self.limit = size // 2
        self._pause = min(max(2 * self._pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        self._left = self._pause

    def succeeded(self, size: int) -> None:
        """Batches of so many bytes became one."""
        self.limit = min(max(self.limit, size) * 17 // 16, _UNBOUNDED)
        self._pause = 0
