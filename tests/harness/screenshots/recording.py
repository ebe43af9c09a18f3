"""The demo as an animation: what a terminal shows of it, from the first line to the last."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import time
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.support.layout import ROOT

_TERMTOSVG: Final = Path(sys.executable).with_name("termtosvg")
_COLUMNS: Final = 104
_ROWS: Final = 14
_LONGEST_PAUSE_MS: Final = 700
_SHORTEST_FRAME_MS: Final = 120
_END_MS: Final = 6000


def record_demo(folder: Path) -> None:
    """Runs ``./scripts/demo --once``, and writes ``demo.svg``; termtosvg draws it."""
    with tempfile.TemporaryDirectory(prefix="mm2-recording-") as work:
        cast = Path(work, "demo.cast")
        cast.write_text("\n".join(map(json.dumps, _recorded("./scripts/demo", "--once"))))
        shape = ["-m", str(_SHORTEST_FRAME_MS), "-M", str(_LONGEST_PAUSE_MS), "-D", str(_END_MS)]
        command: list[str | Path] = [
            _TERMTOSVG,
            "render",
            cast,
            folder / "demo.svg",
            *shape,
            "-t",
            "window_frame",
        ]
        subprocess.run(command, check=True)


def _recorded(*command: str) -> Iterator[object]:
    """The lines of a recording in the format of asciinema, version 2."""
    yield {"version": 2, "width": _COLUMNS, "height": _ROWS}
    yield [0.0, "o", f"$ {' '.join(command)}\r\n"]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    variables = {**os.environ, "TERM": "xterm-256color"}
    decoder = getincrementaldecoder("utf-8")(errors="replace")
    begun = time.monotonic()
    with subprocess.Popen(
        command, cwd=ROOT, env=variables, stdin=theirs, stdout=theirs, stderr=theirs
    ):
        os.close(theirs)
        with suppress(OSError):  # Linux's end of a terminal that the last process has left.
            while part := os.read(ours, 4096):
                yield [time.monotonic() - begun, "o", decoder.decode(part)]
    os.close(ours)
