"""What pictures for the documentation show, and what they do not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import pytest

from mm2.config.text.properties import load
from mm2.demo.demo_clusters import sample_config
from mm2.driver.file_validation import validate
from tests.harness.screenshots import __main__ as screenshots
from tests.harness.screenshots.__main__ import settings
from tests.harness.screenshots.terminal import printed

_COMMAND: Final = """
import os
import sys
from mm2.cli.progress import waiting
with waiting("looks around"):
    print("a terminal:", sys.stdout.isatty())
    print("Spark is in", sys.prefix)
    print("in fact in", os.path.realpath(sys.prefix))
print("B is away", file=sys.stderr)
"""


def test_a_terminal_is_shown_without_progress_and_without_paths_of_this_machine(
    tmp_path: Path,
) -> None:
    shown = printed([sys.executable, "-c", _COMMAND], tmp_path / "mm2.properties")
    assert shown.splitlines() == [
        "a terminal: True",
        "Spark is in /opt/mm2",
        "in fact in /opt/mm2",
        "B is away",
    ]


def test_the_mirror_that_is_shown_has_a_file_without_mistakes(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(settings(sample_config().read_text()))
    assert "topics = orders, customers, invoices.*" in file.read_text().splitlines()
    assert list(validate(load(file))) == []


def test_without_prometheus_the_dashboard_is_left_out_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(screenshots, "PROMETHEUS", None)
    pictures = tmp_path / "pictures"
    monkeypatch.setattr(sys, "argv", ["screenshots", "--dashboard", "--to", str(pictures)])
    assert screenshots.main() == 0
    assert "No prometheus: dashboard.png stays as it is" in capsys.readouterr().out
    assert not pictures.exists()
