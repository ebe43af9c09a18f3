"""The demo on the screen: a table that lives on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mm2.core.json_text import read_json
from mm2.demo.flow_numbers import FlowNumbers
from mm2.demo.record_comparison import Verification

_LINES_EVERY_S: Final = 2.0
_SHOWN_PROBLEMS: Final = 5


@dataclass(slots=True, kw_only=True)
class View:
    """
    Shows the flows; a context.

    Args:
        console: where to.
        flows: the numbers, and for each flow its verification.

    Attributes:
        log: of the mirror, which says where its status page is; None if there is no mirror yet.
        status: the line below the numbers.
    """

    console: Console
    flows: Sequence[tuple[FlowNumbers, Verification]]
    log: Path | None = None
    status: str = ""
    _page: str = ""
    _live: Live | None = field(default=None)
    _printed: float = 0.0

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live = Live(console=self.console, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def say(self, text: str) -> None:
        """Prints a line that stays."""
        self.console.print(text, soft_wrap=True, highlight=False)

    def refresh(self) -> None:
        """Shows the numbers as they are now."""
        now_s = time.monotonic()
        self._find_page()
        if self._live:
            self._live.update(self._screen(now_s), refresh=True)
        elif now_s - self._printed >= _LINES_EVERY_S and any(n.partitions for n, _ in self.flows):
            self._printed = now_s
            for numbers, verification in self.flows:
                self.say(line(numbers, verification))

    def _find_page(self) -> None:
        if self.log is not None and not self._page and (url := status_page(self.log)):
            self._page = url
            self.say(f"Its status page: {url}")

    def _screen(self, now_s: float) -> RenderableType:
        problems = [text for n, v in self.flows for text in (*v.differences, *n.errors)]
        silent = [f"{n.flow}: no report" for n, _ in self.flows if n.is_silent(now_s)]
        lines = [Text(text, style="red") for text in (*problems[:_SHOWN_PROBLEMS], *silent)]
        return Group(table(self.flows), *lines, Text(self.status, style="dim"))


def status_page(log: Path) -> str | None:
    """Where a mirror's status page is, by its log; None while it does not say."""
    for line in log.read_text(errors="replace").splitlines():
        if line.startswith("{") and '"rest.listening"' in line:
            event = read_json(line)
            assert isinstance(event, dict)  # noqa: S101 - the brace begins an object
            return f"{event['advertised']}/"
    return None


def table(flows: Sequence[tuple[FlowNumbers, Verification]]) -> Table:
    """The numbers of all flows."""
    found = Table(box=None, pad_edge=False, header_style="bold")
    found.add_column("flow")
    for name in ("topics", "records", "records/s", "MB/s", "lag", "latency", "proved equal"):
        found.add_column(name, justify="right")
    for numbers, verification in flows:
        found.add_row(str(numbers.flow), *_cells(numbers, verification))
    return found


def _cells(numbers: FlowNumbers, verification: Verification) -> tuple[str, ...]:
    records_s, bytes_s = numbers.rates()
    return (
        f"{numbers.topics}",
        f"{numbers.records:,}",
        f"{records_s:,.0f}",
        f"{bytes_s / 1e6:.2f}",
        f"{numbers.lag:,}",
        f"{numbers.latency_ms:,} ms",
        f"{verification.equal:,}",
    )


def line(numbers: FlowNumbers, verification: Verification) -> str:
    """The numbers of one flow, where there is no terminal."""
    topics, records, records_s, mb_s, lag, latency, equal = _cells(numbers, verification)
    return (
        f"{numbers.flow}: {topics} topics, {records} records, {records_s} records/s, {mb_s} MB/s,"
        f" lag {lag}, latency {latency}, {equal} proved equal"
    )
