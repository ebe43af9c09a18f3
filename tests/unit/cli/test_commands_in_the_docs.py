"""Every command that the documentation shows is one that there is, with options that it has."""

from __future__ import annotations

import re
import shlex
from itertools import takewhile
from pathlib import Path

import click
import pytest

from mm2.cli.mm2 import main

_ROOT = Path(__file__).parents[3]
_PAGES = [*sorted(_ROOT.glob("*.md")), *sorted((_ROOT / "docs").rglob("*.md"))]
_SHOWN = re.compile(r"(?:^ *(?:\.venv/bin/)?|`)(mm2 [^`\n]*mm2\.properties[^`\n]*)", re.MULTILINE)
_BEHIND_IT = {"|", "||", "&&", ">", ">/dev/null"}


def _shown() -> list[tuple[str, str]]:
    """Pages and the command lines on them."""
    return [(page.name, line) for page in _PAGES for line in _SHOWN.findall(page.read_text())]


@pytest.mark.parametrize(("page", "line"), _shown())
def test_it_can_be_typed(
    page: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mm2.properties", "positions.json"):
        (tmp_path / name).touch()
    words = [*takewhile(lambda word: word not in _BEHIND_IT, shlex.split(line, comments=True))][1:]
    command: click.Command = main
    while isinstance(command, click.Group):
        name = words.pop(0)
        assert name in command.commands, f"{page}: {line}"
        command = command.commands[name]
    command.make_context(name, words)


def test_there_are_some() -> None:
    assert len(_shown()) > 50
