"""Options that all long-running programs have: what they log, and which version they are."""

from __future__ import annotations

import argparse
import os

from mm2 import __version__
from mm2.errors import ConfigError
from mm2.telemetry.log_settings import (
    FORMAT_VARIABLE,
    FORMATS,
    LEVEL_VARIABLE,
    LOG_LEVELS,
    log_format,
    log_level,
)


def add_process_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--log-level``, ``--log-format`` and ``--version`` to a parser."""
    parser.add_argument(
        "--log-level",
        type=str.lower,
        choices=LOG_LEVELS,
        help=f"the least level that is logged; default: ${LEVEL_VARIABLE}, else info",
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
    for variable, value in (
        (LEVEL_VARIABLE, options.log_level),
        (FORMAT_VARIABLE, options.log_format),
    ):
        if value is not None:
            os.environ[variable] = value
    try:
        log_level()
        log_format()
    except ConfigError as error:
        parser.error(str(error))
