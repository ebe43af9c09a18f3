"""Options that all long-running programs have: what they log, and which version they are."""

from __future__ import annotations

import argparse

from mm2 import __version__
from mm2.errors import ConfigError
from mm2.telemetry.log_settings import (
    FORMAT_VARIABLE,
    FORMATS,
    LEVEL_VARIABLE,
    LEVELS_METAVAR,
    LOG_LEVELS,
    export_log_settings,
    parse_levels,
)


def add_process_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--log-level``, ``--log-format`` and ``--version`` to a parser."""
    parser.add_argument(
        "--log-level",
        type=_levels,
        metavar=LEVELS_METAVAR,
        help=f"the least level that is logged, of all events or those of a noun, such as"
        f" source=debug; levels are {', '.join(LOG_LEVELS)}; default: ${LEVEL_VARIABLE}, else info",
    )
    parser.add_argument(
        "--log-format",
        type=str.lower,
        choices=FORMATS,
        help=f"default: ${FORMAT_VARIABLE}, else sentences on a terminal and JSON elsewhere",
    )
    parser.add_argument("--version", action="version", version=f"mm2 {__version__}")


def export_log_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """
    Sets the variables of the environment, which tasks and a background process inherit.

    A variable with a value that is not allowed ends the process as a wrong option does.
    """
    try:
        export_log_settings(options.log_level, options.log_format)
    except ConfigError as error:
        parser.error(str(error))


def _levels(text: str) -> str:
    """The text, if it names levels."""
    try:
        parse_levels(text)
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text
