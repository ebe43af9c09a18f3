"""What the programs of Connect's workers have in common: arguments, exit statuses, ``-daemon``."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NoReturn

from mm2.cli.process_options import add_process_options, export_log_options
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
    is_daemon = words[:1] == ["-daemon"]
    command = program.rpartition(".")[2].replace("_", "-")
    names = _files_among(words[1:] if is_daemon else words, f"{command} [-daemon] {usage}", command)
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


def _files_among(words: Sequence[str], usage: str, command: str) -> list[str]:
    """The arguments that are no options; ends the process if there are none."""
    parser = argparse.ArgumentParser(prog=command, usage=usage, allow_abbrev=False)
    add_process_options(parser)
    options, names = parser.parse_known_args(words)
    if not names:
        parser.print_usage(sys.stderr)
        sys.exit(EXIT_USAGE)
    export_log_options(parser, options)
    return names


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
