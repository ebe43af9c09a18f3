"""``mm2 doctor``: what would keep a mirror from running, and what to do about it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from mm2.cli.check_rows import exit_status, graded_lines, graded_row
from mm2.cli.options import FILE, FORMAT, run
from mm2.cli.progress import waiting
from mm2.cli.rows import rendered
from mm2.cli.setup.plan_command import RATE
from mm2.config.text.properties import load
from mm2.core.checks import Check
from mm2.errors import ConfigError
from mm2.preflight.doctor import diagnose

_COLUMNS: Final = ["grade", "check", "about", "message", "remedy"]


@click.command("doctor")
@FILE
@RATE
@FORMAT
def doctor(file: Path, rate: int, format_: str) -> None:
    """
    Checks all that a mirror needs before it runs, and says what to do; changes nothing.

    The file, Java and Spark on this machine; of each cluster connection, TLS, log-in, version,
    clock and quotas; of each flow permissions, topics, sizes of messages and retention.

    Exit status: 0 nothing in the way, 1 warnings or errors, 2 the file cannot be read, 3 a cluster
    cannot be reached.
    """
    try:
        text = load(file)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    with waiting("examines this machine, clusters and flows"):
        checks: Sequence[Check] = run(lambda: diagnose(text, rate=rate))
    if format_ == "table":
        click.echo("\n".join(graded_lines(checks)))
    else:
        click.echo(rendered(_COLUMNS, [graded_row(each) for each in checks], format_))
    sys.exit(exit_status(checks))
