"""What scripts/hooks/commit-msg takes as the subject of a commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.layout import ROOT


@pytest.mark.parametrize(
    ("subject", "status"),
    [
        ("kafka: bound what comes out of a batch", 0),
        ("offset_manager: close idle connections", 0),
        ("Merge branch 'main'", 0),
        ("docs: " + "x" * 66, 0),
        ("docs: " + "x" * 67, 1),
        ("Bound what comes out of a batch", 1),
        ("kafka: bound what comes out of a batch.", 1),
    ],
)
def test_subjects(tmp_path: Path, subject: str, status: int) -> None:
    message = tmp_path / "message"
    message.write_text(f"{subject}\n\nWhy.\n# a comment\n")
    hook = [str(ROOT / "scripts" / "hooks" / "commit-msg"), str(message)]
    done = subprocess.run(hook, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert (subject in done.stderr) == bool(status)
