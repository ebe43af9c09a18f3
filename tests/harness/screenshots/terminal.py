"""What commands of ``mm2`` show on a terminal, as pictures."""

from __future__ import annotations

import asyncio
import os
import pty
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from playwright.async_api import Browser
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

_MM2: Final = Path(sys.executable).with_name("mm2")
_INSTALLED: Final = "/opt/mm2"
"""Where pictures say that mm2 is, as docs/how-to/install.md does."""
_COLUMNS: Final = 190
_PICTURES: Final[Mapping[str, Sequence[Sequence[str]]]] = {
    "terminal-status": (("topology",), ("status",), ("topics",)),
    "terminal-plan": (("plan",), ("doctor",)),
}


async def take_terminal_pictures(chromium: Browser, config: Path, folder: Path) -> None:
    """Runs each command as at a terminal, and draws what it prints."""
    for name, commands in _PICTURES.items():
        shown = Text()
        for words in commands:
            shown.append(f"$ mm2 {' '.join(words)}\n", "bold green")
            shown.append(Text.from_ansi(await asyncio.to_thread(printed, [_MM2, *words], config)))
            shown.append("\n\n")
        page = await chromium.new_page(viewport={"width": 1680, "height": 900})
        await page.set_content(_html(shown))
        await page.locator("pre").screenshot(path=folder / f"{name}.png")
        await page.close()


def printed(command: Sequence[str | Path], config: Path) -> str:
    """
    What a command prints on a terminal, with its colours, and then what it says beside its rows.

    Progress is for those who wait, and where this machine has its files is nobody's business:
    neither is in it.
    """
    ours, theirs = pty.openpty()
    variables = {"COLUMNS": str(_COLUMNS), "MM2_CONFIG": str(config), "TERM": "xterm-256color"}
    environment = {**os.environ, **variables}
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(command, env=environment, stdout=theirs, stderr=said):
            os.close(theirs)
            shown = b"".join(_read(ours))
        os.close(ours)
        said.seek(0)
        text = (shown + said.read()).decode().replace("\r\n", "\n").rstrip()
    for here in {sys.prefix, str(Path(sys.prefix).resolve())}:
        text = text.replace(here, _INSTALLED)
    return text


def _read(terminal: int) -> Iterator[bytes]:
    """Linux ends what a terminal gives with an error, when the last process has left it."""
    with suppress(OSError):
        while part := os.read(terminal, 4096):
            yield part


def _html(text: Text) -> str:
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=_COLUMNS, file=nowhere, force_terminal=True)
        console.print(text, soft_wrap=True)
        return console.export_html(theme=MONOKAI, inline_styles=True)
