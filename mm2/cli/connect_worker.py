"""What the programs of Connect's workers have in common: arguments, exit statuses, ``-daemon``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NoReturn

from mm2.core.plugin import close_all
from mm2.errors import ConfigErrors, FatalError

EXIT_USAGE: Final = 1
_EXIT_OTHER: Final = 2
_EXIT_START: Final = 3
"""Exit statuses of Java's ``AbstractConnectCli``."""


def main_of(
    program: str, usage: str, words: Sequence[str], run: Callable[[list[Path]], int]
) -> NoReturn:
    """
    Runs a worker with the files that the command line names, and ends the process with its status.

    Args:
        program: module of the command, to be started again for ``-daemon``.
        usage: its arguments, for people.
        words: the command line.
        run: runs the worker with its files.
    """
    is_daemon, names = (
        words[:1] == ["-daemon"],
        list(words[1:] if words[:1] == ["-daemon"] else words),
    )
    command = program.rpartition(".")[2].replace("_", "-")
    if not names or "--help" in names or "-h" in names:
        print(f"Usage: {command} {usage}", file=sys.stderr)
        sys.exit(0 if names else EXIT_USAGE)
    files = [Path(name) for name in names]
    if unreadable := [file for file in files if not os.access(file, os.R_OK) or file.is_dir()]:
        for file in unreadable:
            print(f"{command}: the file '{file}' is not there or cannot be read", file=sys.stderr)
        sys.exit(_EXIT_OTHER)
    if is_daemon:
        sys.exit(_daemon(program, files, command))
    status = _foreground(files, run)
    close_all()
    sys.stdout.flush()
    sys.stderr.flush()
    # Everything of ours is closed; threads of client libraries may still wait for clusters.
    os._exit(status)


def _foreground(files: list[Path], run: Callable[[list[Path]], int]) -> int:
    try:
        return run(files)
    except ConfigErrors as errors:
        for line in getattr(errors, "lines", map(str, errors.problems)):
            print(line, file=sys.stderr)
    except FatalError as error:
        print(error, file=sys.stderr)
        return _EXIT_START
    return _EXIT_OTHER


def _daemon(program: str, files: Sequence[Path], command: str) -> int:
    """Starts the worker in the background, as the ``-daemon`` flag of Kafka's scripts does."""
    with Path(f"{command}.out").open("ab") as output:
        subprocess.Popen(  # noqa: S603 - our own module with the user's own arguments
            [sys.executable, "-m", program, *map(str, files)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return 0
