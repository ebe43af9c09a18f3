"""
Shows on a terminal that long work goes on, and how far it is; elsewhere it says nothing.

Bars are on standard error and go when the work is done, so that results are all that stays.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Rich takes a tenth of a second to import; most commands are short.
    from rich.progress import Progress, ProgressColumn


class WeighedProgress:
    """
    How much of several parts is done, each of which has a size of its own.

    Threads may call it at the same time.

    Args:
        sizes: of the parts, in their order. An empty one counts, too.

    Attributes:
        total: what is done once all parts are.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = [max(1, size) for size in sizes]
        self._done = [0 for _ in sizes]
        self._lock = threading.Lock()
        self.total = sum(self._sizes)

    def reached(self, part: int, done: int) -> int:
        """Notes how much of a part is done, and returns how much that is more than before."""
        if part not in range(len(self._sizes)):
            return 0
        with self._lock:
            more = max(0, min(done, self._sizes[part]) - self._done[part])
            self._done[part] += more
            return more

    def ended(self, part: int) -> int:
        """Notes that a part is done, and returns how much that is more than before."""
        return self.reached(part, self._sizes[part])


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar that shows how much of ``total`` is done; gives what is to be told of each advance."""
    from rich.progress import BarColumn, TaskProgressColumn  # noqa: PLC0415 - see above

    with _progress(BarColumn(), TaskProgressColumn()) as progress:
        bar = progress.add_task(what, total=total)
        yield lambda more: progress.advance(bar, more)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Shows what is waited for, and for how long, where nobody knows how long it takes."""
    from rich.progress import SpinnerColumn  # noqa: PLC0415 - see above

    with _progress(SpinnerColumn()) as progress:
        progress.add_task(what, total=None)
        yield


def _progress(*columns: ProgressColumn) -> Progress:
    from rich.console import Console  # noqa: PLC0415 - see above
    from rich.progress import Progress, TimeElapsedColumn  # noqa: PLC0415

    console = Console(stderr=True)
    return Progress(
        "{task.description}",
        *columns,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
