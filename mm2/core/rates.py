"""How fast totals grow: over a window of the last seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass(slots=True)
class WindowedRate:
    """
    A total that is reported when it changes, as a rate per second.

    Between two reports nothing was added. A new run of what is counted begins at zero.
    """

    window_ms: int
    _seen: deque[tuple[int, int]] = field(default_factory=deque)
    _run: Hashable = None
    _before: int = 0
    _turns_ms: int = 0

    def observe(self, total: int, *, run: Hashable, at_ms: int, turn_ms: int = 0) -> None:
        """
        Learns a total.

        Args:
            run: names the run that counts.
            turn_ms: after how long it is reported again while it changes; a window is two of these
                at least.
            at_ms: when; what comes out of order counts as of the newest time.
        """
        if self._seen:
            at_ms = max(at_ms, self._seen[-1][0])
            if run != self._run:
                self._before = self._seen[-1][1]
        self._run = run
        self._turns_ms = 2 * turn_ms
        self._seen.append((at_ms, self._before + total))
        # One report from before the window stays: it tells the total where the window begins.
        while len(self._seen) > 1 and self._seen[1][0] <= at_ms - self._span_ms:
            self._seen.popleft()

    @property
    def _span_ms(self) -> int:
        return max(self.window_ms, self._turns_ms)

    def rate(self, now_ms: int) -> float:
        """What was added per second in the window before ``now_ms``; zero if that is not known."""
        begin_ms = now_ms - self._span_ms
        if not self._seen or self._seen[-1][0] <= begin_ms:
            return 0.0
        before = (seen for seen in reversed(self._seen) if seen[0] <= begin_ms)
        since_ms, first = next(before, self._seen[0])
        since_ms = max(since_ms, begin_ms)
        if now_ms <= since_ms:
            return 0.0
        return 1000 * (self._seen[-1][1] - first) / (now_ms - since_ms)
