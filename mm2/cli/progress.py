"""
Shows on a terminal that long work goes on, and how far it is; elsewhere it says nothing.

Bars are on standard error and go when the work is done, so that results are all that stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Rich takes a tenth of a second to import; most commands are short.
    from rich.progress import Progress, ProgressColumn


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
