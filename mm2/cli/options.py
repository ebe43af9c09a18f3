"""What the commands about flows share: options, exit statuses, and how failures end them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import click

from mm2.cli.rows import FORMATS
from mm2.config.expressions import hide
from mm2.config.flow import FlowConfig, flow_config
from mm2.config.maker import MirrorMakerConfig
from mm2.config.properties import load
from mm2.errors import ClusterError, ConfigError, ConfigErrors, PatternTimeout

T = TypeVar("T")

CHECK_FAILED: Final = 1
USAGE: Final = 2
UNREACHABLE: Final = 3

FILE: Final = click.argument("file", type=click.Path(path_type=Path))
FLOW: Final = click.option("--flow", help="Which flow, written A->B; needed if there are several.")
FORMAT: Final = click.option(
    "--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True
)


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs what needs clusters; failures end the process with their status."""
    try:
        return asyncio.run(work())
    except ClusterError as error:
        end(UNREACHABLE, str(error))
    except ConfigErrors as errors:
        end(CHECK_FAILED, *map(str, errors.problems))
    except PatternTimeout as error:
        end(CHECK_FAILED, str(error))


def end(status: int, *messages: str) -> NoReturn:
    """Ends the process with a status, after saying why."""
    tell(messages)
    sys.exit(status)


def tell(messages: Iterable[str]) -> None:
    """Says something to people, beside the rows for programs."""
    for message in messages:
        click.echo(hide(message), err=True)


def refuse_usage(problems: Iterable[str]) -> None:
    """
    Refuses options that do not go together, all problems at once.

    Raises:
        UsageError: there is a problem.
    """
    if found := list(problems):
        raise click.UsageError("\n".join(found))


def flow_of(file: Path, wanted: str | None, problems: Iterable[str] = ()) -> FlowConfig:
    """
    The flow that is meant; the only one that is enabled, if none is named.

    Args:
        file: that has it.
        wanted: its name.
        problems: what else is wrong with the options, to be told together.

    Raises:
        UsageError: there is a problem.
    """
    configs = flows_of(file, wanted)
    enabled = [config for config in configs if config.source.enabled or wanted]
    found = list(problems)
    if len(enabled) != 1:
        names = ", ".join(map(str, maker_of(file).cluster_pairs())) or "none"
        found.append(f"Say which flow with --flow; there are {names}.")
    refuse_usage(found)
    return enabled[0]


def flows_of(file: Path, wanted: str | None = None) -> list[FlowConfig]:
    """All flows of a file that exist, or the one that is named; a wrong file is wrong usage."""
    maker = maker_of(file)
    flows = [flow for flow in maker.cluster_pairs() if wanted in (None, str(flow))]
    try:
        return [flow_config(maker, flow) for flow in flows]
    except ConfigErrors as errors:
        end(USAGE, *(f"{file}: {problem}" for problem in errors.problems))


def maker_of(file: Path) -> MirrorMakerConfig:
    """What a file means; a wrong one is wrong usage."""
    try:
        return MirrorMakerConfig.of(load(file))
    except ConfigErrors as errors:
        end(USAGE, *(f"{file}: {problem}" for problem in errors.problems))
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
