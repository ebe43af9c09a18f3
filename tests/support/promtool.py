"""Prometheus' own tool, where this machine has it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

_PROMTOOL: Final = shutil.which("promtool")
NEEDS_PROMTOOL: Final = pytest.mark.skipif(
    _PROMTOOL is None, reason="there is no promtool; it is in Debian's package prometheus"
)


def promtool(*words: str | Path) -> None:
    """Runs it, and fails with what it says."""
    assert _PROMTOOL is not None
    done = subprocess.run(
        [_PROMTOOL, *words], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
