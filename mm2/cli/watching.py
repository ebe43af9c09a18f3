"""``--watch``: what a command shows, shown again and again until it is interrupted."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeVar

import click

from mm2.cli.options import UNREACHABLE, run, tell
from mm2.cli.rows import Row, rendered
from mm2.errors import ClusterError
from mm2.telemetry.log_settings import wants_colours

T = TypeVar("T")

WATCH_S: Final = 2.0

WATCH: Final = click.option(
    "--watch",
    type=click.FloatRange(min=0.1),
    is_flag=False,
    flag_value=WATCH_S,
    metavar="[SECONDS]",
    help=f"Shows it again and again, each {WATCH_S:g} seconds unless given, until interrupted.",
)


def run_until_interrupted(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """As ``run``; Ctrl-C is a usual end."""
    try:
        run(work)
    except KeyboardInterrupt:
        tell([""])


async def look(
    at: Callable[[], Awaitable[T]], show: Callable[[T], None], every_s: float | None
) -> None:
    """
    Looks at something and shows it on an empty screen, every so many seconds until cancelled.

    Args:
        every_s: None is once, and leaves the screen as it is.
    """
    while True:
        found = await at()
        if every_s is not None:
            click.clear()
        show(found)
        if every_s is None:
            return
        await asyncio.sleep(every_s)


@dataclass(frozen=True, slots=True)
class Shown:
    """
    What one look has found.

    Attributes:
        rows: None if nothing can be shown.
        told: sentences for people.
        status: what the command ends with, if this is its last look.
    """

    rows: Sequence[Row] | None
    told: Sequence[str] = ()
    status: int = 0


def show_and_exit(
    columns: Sequence[str], at: Callable[[], Awaitable[Shown]], format_: str, every_s: float | None
) -> NoReturn:
    """
    Looks, shows the rows, and ends the process with the status of the last look.

    A cluster that is away, or refuses, ends no watch.
    """
    last = [Shown(None)]

    async def tried() -> Shown:
        try:
            return await at()
        except ClusterError as error:
            return Shown(None, [str(error)], UNREACHABLE)

    def show(seen: Shown) -> None:
        last[:] = [seen]
        if seen.rows is not None:
            click.echo(rendered(columns, seen.rows, format_))
        tell(seen.told)

    run_until_interrupted(lambda: look(tried, show, every_s))
    sys.exit(last[0].status)


def show_rows(
    columns: Sequence[str], rows: Sequence[Row], format_: str, is_bad: Sequence[bool]
) -> None:
    """Prints rows; a table on a terminal has bars, and those that are bad are red."""
    has_bars = sys.stdout.isatty() and "utf" in sys.stdout.encoding.lower()
    text = rendered(columns, rows, format_, with_bars=has_bars)
    if format_ == "table" and is_coloured():
        text = _coloured(text, is_bad)
    click.echo(text)


def is_coloured() -> bool:
    """Whether standard output is a terminal of somebody who wants colours."""
    return wants_colours(sys.stdout)


def styled(text: str, **style: Any) -> str:
    """A text as ``click.style`` makes it, for who wants colours."""
    return click.style(text, **style) if is_coloured() else text


def _coloured(table: str, is_bad: Sequence[bool]) -> str:
    head, *lines = table.splitlines()
    marked = (
        click.style(line, fg="red") if bad else line
        for line, bad in zip(lines, is_bad, strict=True)
    )
    return "\n".join([head, *marked])
