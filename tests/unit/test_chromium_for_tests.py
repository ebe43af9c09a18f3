"""A machine without a browser gets one before the whole suite runs, where that is possible."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.layout import ROOT

_ROOT_USER, _SOMEBODY = "0", "1000"


class _Machine:
    """A folder of programs, of which apt-get notes what it was asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "bin"
        self._folder.mkdir()
        self._asked = folder / "asked"

    def has(self, program: str, script: str = "exit 0") -> None:
        path = self._folder / program
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def is_debian(self, *, install_status: int = 0) -> None:
        refuses = f'[ "$1" != install ] || exit {install_status}'
        self.has("apt-get", f'echo "$1" >>{self._asked}\n{refuses}')

    def get_chromium(self, user: str) -> str:
        """What the script says."""
        self.has("id", f"echo {user}")
        done = subprocess.run(
            [ROOT / "scripts" / "get-chromium"],
            env={"PATH": str(self._folder)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stderr

    def asked(self) -> list[str]:
        return self._asked.read_text().split() if self._asked.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> _Machine:
    return _Machine(tmp_path)


def test_debian_installs_its_package(machine: _Machine) -> None:
    machine.is_debian()
    assert machine.get_chromium(_ROOT_USER) == "Installing Chromium ...\n"
    assert machine.asked() == ["update", "install"]


def test_what_fails_is_said_and_is_no_error(machine: _Machine) -> None:
    machine.is_debian(install_status=100)
    assert "could not be installed" in machine.get_chromium(_ROOT_USER)


def test_nothing_is_installed_where_there_is_a_browser(machine: _Machine) -> None:
    machine.is_debian()
    machine.has("google-chrome")
    assert machine.get_chromium(_ROOT_USER) == ""
    assert machine.asked() == []


def test_nobody_but_root_installs(machine: _Machine) -> None:
    machine.is_debian()
    assert "apt-get install chromium" in machine.get_chromium(_SOMEBODY)
    assert machine.asked() == []


def test_without_apt_get_tests_are_skipped_and_that_is_said(machine: _Machine) -> None:
    assert "are skipped" in machine.get_chromium(_ROOT_USER)


def test_the_whole_suite_asks_for_it() -> None:
    assert "./scripts/get-chromium\n" in (ROOT / "scripts" / "test").read_text()
