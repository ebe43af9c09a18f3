"""Every command that the documentation shows is one that there is, with options that it has."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Final

import click
import pytest

from mm2.cli import connect_mirror_maker, connect_worker
from mm2.cli.mm2 import main
from mm2.config.legacy.command_line import WrongCommandLine, read_command_line
from tests.support.shown_commands import PAGES, inline_code, shell_lines

_BEHIND_IT: Final = {"|", "||", "&&", ">", ">/dev/null"}
_PROGRAM: Final = re.compile(
    r"^(?:\S*/)?(mm2|connect-mirror-maker|kafka-mirror-maker|connect-distributed"
    r"|connect-standalone) "
)
_FILE: Final = re.compile(r"\.(?:properties|json|yaml|log|index|gz)$")
_MISSING: Final = "something is missing"
_OMISSIONS: Final = {_MISSING}


def _shown(lines: Callable[[Path], Iterator[str]]) -> list[tuple[str, str]]:
    """Pages and the command lines on them."""
    found = ((page.name, line) for page in PAGES for line in lines(page) if _PROGRAM.match(line))
    return [*dict.fromkeys(found)]


@pytest.mark.parametrize(("page", "line"), _shown(shell_lines))
def test_it_can_be_typed(
    page: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _problems(line) - (_OMISSIONS if "..." in line else set()) == set(), page


@pytest.mark.parametrize(("page", "line"), _shown(inline_code))
def test_what_a_sentence_names_is_there(
    page: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence may leave out what a command needs, but not where it names the file."""
    monkeypatch.chdir(tmp_path)
    assert _problems(line) - (set() if ".properties" in line else _OMISSIONS) == set(), page


def _problems(line: str) -> set[str]:
    """What the program has against the line."""
    program, *words = _words(line)
    _make_files(words)
    try:
        _parse(Path(program).name, [word.removeprefix("/") for word in words])
    except click.MissingParameter:
        return {_MISSING}
    except click.ClickException as error:
        return {error.format_message()}
    except WrongCommandLine as error:
        lines = map(str, error.problems)
        return {_MISSING if " is missing: " in each else each for each in lines}
    except (SystemExit, click.exceptions.Exit) as ended:
        status = ended.exit_code if isinstance(ended, click.exceptions.Exit) else ended.code
        return set() if status == 0 else {f"status {status}"}
    return set()


def _words(line: str) -> list[str]:
    words = takewhile(lambda word: word not in _BEHIND_IT, shlex.split(line, comments=True))
    return [word for word in words if word != "..."]


def _make_files(words: Sequence[str]) -> None:
    for word in filter(_FILE.search, words):
        file = Path(word.removeprefix("/"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def _parse(program: str, words: list[str]) -> None:
    """Raises what the program does about a wrong command line."""
    if program == "mm2":
        _parse_command(words)
    elif program == "kafka-mirror-maker":
        read_command_line(words)
    elif program == "connect-mirror-maker":
        connect_mirror_maker._parser().parse_args([word for word in words if word != "-daemon"])
    else:
        files = connect_worker._files_among(words, "", program)
        assert [name for name in files if name.startswith("-")] == []


def _parse_command(words: list[str]) -> None:
    command: click.Command = main
    while isinstance(command, click.Group) and words:
        context = command.make_context(command.name, words)
        words = [*context._protected_args, *context.args]
        _, found, words = command.resolve_command(context, words)
        assert found is not None
        command = found
    if not isinstance(command, click.Group):
        command.make_context(command.name, words)


def test_there_are_some() -> None:
    shown = [_PROGRAM.match(line) for _, line in _shown(shell_lines)]
    assert len(shown) > 50
    assert len({match[1] for match in shown if match}) == 5
    assert len(_shown(inline_code)) > 20
