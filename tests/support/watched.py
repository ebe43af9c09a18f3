"""Runs ``mm2`` with ``--watch``, as somebody who stops it after having seen enough."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.eventually import eventually


def watched(words: Sequence[str], shown: str, output: Path) -> int:
    """
    Watches until a text has been shown twice, and interrupts it; the exit status.

    Args:
        words: the command and its options, without ``--watch``.
        shown: what each look shows.
        output: a file for all that is printed.
    """
    command = [str(Path(sys.executable).with_name("mm2")), *words, "--watch", "0.2"]
    with output.open("wb") as stream:
        watching = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
        try:
            eventually(lambda: output.read_text().count(shown), until=lambda times: times > 1)
            watching.send_signal(signal.SIGINT)
            return watching.wait(60)
        finally:
            watching.kill()
            watching.wait()
