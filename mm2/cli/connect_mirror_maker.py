"""
``connect-mirror-maker mm2.properties [--clusters A B]``: the drop-in for Java's driver.

Arguments and exit statuses are those of ``org.apache.kafka.connect.mirror.MirrorMaker`` and of the
shell script before it (C001-C006).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from mm2.cli.process_options import add_process_options, export_log_options
from mm2.core.plugin import close_all
from mm2.errors import ConfigError, ConfigErrors, FatalError

_EXIT_ARGUMENTS: Final = 255
_EXIT_NO_ARGUMENTS: Final = 1
_EXIT_OTHER: Final = 2
_EXIT_START: Final = 3


class _Parser(argparse.ArgumentParser):
    """Java's parser ends the process with -1 where Python's uses 2."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(_EXIT_ARGUMENTS, f"{self.prog}: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="connect-mirror-maker", description="MirrorMaker 2.0 driver")
    parser.add_argument(
        "config",
        metavar="mm2.properties",
        type=_readable,
        help="MM2 configuration file.",
    )
    parser.add_argument(
        "--clusters",
        nargs="+",
        metavar="CLUSTER",
        help="Target cluster to use for this node.",
    )
    add_process_options(parser)
    return parser


def _readable(name: str) -> Path:
    path = Path(name)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no file '{name}'")
    if not os.access(path, os.R_OK):
        raise argparse.ArgumentTypeError(f"the file '{name}' cannot be read: check its permissions")
    return path


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the driver and ends the process with its status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words:
        _parser().print_usage(sys.stderr)
        sys.exit(_EXIT_NO_ARGUMENTS)
    if words[0] == "-daemon":
        sys.exit(_daemon(words[1:]))
    options = _parsed(words)
    status = _run(options.config, options.clusters)
    close_all()
    sys.stdout.flush()
    sys.stderr.flush()
    # Everything of ours is closed. The interpreter's own way out would still wait for threads of
    # client libraries that wait for clusters which do not answer.
    os._exit(status)


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    parser = _parser()
    options = parser.parse_args(words)
    export_log_options(parser, options)
    return options


def _run(path: Path, clusters: Sequence[str] | None) -> int:
    # The driver brings the whole data plane with it; --help and bad arguments answer at once.
    from mm2.driver.start import run  # noqa: PLC0415

    try:
        return run(path, clusters)
    except ConfigErrors as errors:
        for problem in _all_problems(path, errors):
            print(f"{path}: {problem}", file=sys.stderr)
    except ConfigError as error:
        print(f"{path}: {error}", file=sys.stderr)
    except FatalError as error:
        print(error, file=sys.stderr)
        return _EXIT_START
    return _EXIT_OTHER


def _all_problems(path: Path, errors: ConfigErrors) -> list[str]:
    """What ended the start, and the other errors that ``mm2 config validate`` finds."""
    from mm2.driver.file_validation import errors_of  # noqa: PLC0415

    return list(dict.fromkeys(map(str, [*errors_of(path), *errors.problems])))


def _daemon(words: Sequence[str]) -> int:
    """Starts the driver in the background, as the ``-daemon`` flag of Kafka's scripts does."""
    options = _parsed(words)
    command = [sys.executable, "-m", "mm2.cli.connect_mirror_maker", str(options.config)]
    if options.clusters:
        command += ["--clusters", *options.clusters]
    with Path("connect-mirror-maker.out").open("ab") as output:
        subprocess.Popen(  # noqa: S603 - our own module with the user's own arguments
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return 0


if __name__ == "__main__":
    main()
