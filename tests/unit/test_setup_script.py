"""``scripts/setup`` says what it is about to do wherever that takes long."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from flows.spark import archive
from tests.support.layout import ROOT

_PYTHON = """#!/bin/sh
echo "$*" >>ran
case "$*" in
*archive) echo "Archiving for ${2%.archive} ..."; echo noise >&2 ;;
"-m venv .venv") mkdir -p .venv/bin; cp "$0" .venv/bin/python; cp "$0" .venv/bin/uv ;;
esac
"""
"""Stands in for Python and uv: installs nothing, and archives in no time."""


def _place(root: Path) -> Path:
    """A checkout with the script alone, and programs that do nothing."""
    (root / "scripts").mkdir()
    (root / "bin").mkdir()
    for name in ("scripts/setup", "scripts/requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, root / name)
    for name, text in {"scripts/fetch-kafka": "#!/bin/sh\n", "bin/python3": _PYTHON}.items():
        (root / name).write_text(text)
        (root / name).chmod(0o755)
    return root


def _set_up(place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [place / "scripts" / "setup"],
        env={"PATH": f"{place / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )


def test_each_slow_step_is_announced_and_nothing_else_is_said(tmp_path: Path) -> None:
    place = _place(tmp_path)
    said = []
    for _ in range(2):
        done = _set_up(place)
        assert done.stdout == ""
        said.append(done.stderr.splitlines())
    archives = ["Archiving for tests.support ...", "Archiving for flows.spark ..."]
    assert said == [["Setting up .venv ...", "Compiling what tasks need ...", *archives], archives]


def test_bytecode_is_made_once_of_packages_and_each_time_of_what_may_have_changed(
    tmp_path: Path,
) -> None:
    place = _place(tmp_path)
    for _ in range(2):
        _set_up(place)
    ran = (place / "ran").read_text().splitlines()
    assert sum("pip sync" in line and "--compile-bytecode" in line for line in ran) == 1
    assert ran.count("-m compileall -q mm2 flows") == 2


@pytest.mark.parametrize("is_there", [False, True])
def test_an_archive_that_is_about_to_be_made_is_announced(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    is_there: bool,
) -> None:
    file = tmp_path / "spark.jsa"
    if is_there:
        file.touch()
    monkeypatch.setattr(archive, "archive_of", lambda _java, _jars: file)
    monkeypatch.setattr(archive, "make", lambda made: made.touch())
    archive.main()
    assert ("Archiving Spark's classes" in capsys.readouterr().out) is not is_there
    assert file.exists()
