"""What the commands about flows share: options, exit statuses, and how failures end them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import click

from mm2.cli.completing import flow_option
from mm2.cli.rows import FORMATS
from mm2.config.checks.failed_flows import FailedFlow, FlowsOfFile
from mm2.config.flow_config import FlowConfig
from mm2.config.legacy.zookeeper_keys import ENABLE_TLS, zookeeper_tls
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.text.client_file import load_client_file
from mm2.config.text.expressions import hide
from mm2.config.text.properties import load
from mm2.core.filters import NamePatterns
from mm2.core.lists import parse_list
from mm2.errors import ClusterError, ConfigError, ConfigErrors

T = TypeVar("T")

CHECK_FAILED: Final = 1
USAGE: Final = 2
UNREACHABLE: Final = 3

FILE: Final = click.argument(
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    envvar="MM2_CONFIG",
    default="mm2.properties",
)
"""Where it is not given, ``MM2_CONFIG`` names it, or it is in the working directory."""

FLOW: Final = flow_option("Which flow, written A->B; needed if there are several.")
FORMAT: Final = click.option(
    "--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True
)
EXECUTE: Final = click.option(
    "--execute", is_flag=True, help="Does it; without, only what would be done is shown."
)
"""
Of all commands that change settings, positions or offsets of groups.

Those that pause, stop, resume or restart do so at once: they have nothing to show beforehand.
"""
ZOOKEEPER_TLS: Final = click.option(
    "--zk-tls-config-file",
    "zookeeper_file",
    type=click.Path(path_type=Path),
    help="Properties for TLS to ZooKeeper, zookeeper.ssl.*, as Kafka's tools have them.",
)
NOT_EXECUTED: Final = "Nothing has been changed; --execute does it."


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs what needs clusters; failures end the process with their status."""
    try:
        return asyncio.run(work())
    except ClusterError as error:
        end(UNREACHABLE, str(error))
    except ConfigErrors as errors:
        end(CHECK_FAILED, *map(str, errors.problems))
    except ConfigError as error:
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
        problems: what else is wrong with the options, to be reported together.

    Raises:
        UsageError: there is a problem.
    """
    found = flows_of(file, wanted)
    good = [each for each in found.flows if each.source.enabled or wanted]
    wrong = [each for each in found.failed if each.is_enabled]
    messages = list(problems)
    if len(good) + len(wrong) != 1:
        names = ", ".join(map(str, found.maker.cluster_pairs())) or "none"
        messages.append(f"Say which flow with --flow; there are {names}.")
    refuse_usage(messages)
    if wrong:
        end(USAGE, *wrong_flows(file, wrong))
    return good[0]


def flows_of(file: Path, wanted: str | None = None) -> FlowsOfFile:
    """
    All flows of a file that exist, or the one that is named.

    What is wrong with one leaves the others alone; it is wrong usage if nothing is left.
    """
    maker = maker_of(file)
    flows = [flow for flow in maker.cluster_pairs() if wanted in (None, str(flow))]
    found = FlowsOfFile.of(maker, flows)
    if found.failed and not found.flows:
        end(USAGE, *(f"{file}: {problem}" for problem in found.problems))
    return found


def wrong_flows(file: Path, failed: Iterable[FailedFlow]) -> list[str]:
    """A sentence for each flow that cannot run for what its file says."""
    return [
        f"{file}: flow {each.flow} cannot run: {'; '.join(map(str, each.problems))}"
        for each in failed
    ]


def client_properties(servers: str, file: Path | None) -> dict[str, str]:
    """
    The properties of a cluster's clients: those of ``--command-config``, if it is given.

    Raises:
        UsageError: the file cannot be read or is malformed, or a config provider fails.
    """
    try:
        properties = load_client_file(file).values if file else {}
    except ConfigError as error:
        where = "" if error.line is None else f"{file}: "
        raise click.UsageError(hide(f"{where}{error}")) from error
    return {**properties, "bootstrap.servers": servers}


def zookeeper_tls_of(file: Path | None) -> dict[str, str] | None:
    """
    The keys for TLS of ``--zk-tls-config-file``; None if there is no file.

    Raises:
        UsageError: the file cannot be read, or does not switch TLS on.
    """
    if file is None:
        return None
    tls = zookeeper_tls(client_properties("", file))
    if tls is None:
        raise click.UsageError(f"{file}: {ENABLE_TLS}=true is missing: TLS would not be used.")
    return tls


def maker_of(file: Path) -> MirrorMakerConfig:
    """What a file means; a wrong one is wrong usage."""
    try:
        return MirrorMakerConfig.of(load(file))
    except ConfigErrors as errors:
        end(USAGE, *(f"{file}: {problem}" for problem in errors.problems))
    except ConfigError as error:
        raise click.UsageError(str(error)) from error


def patterns_of(topics: str | None) -> NamePatterns:
    """What ``--topics`` says, all topics if it is not given; a wrong one is wrong usage."""
    try:
        return NamePatterns([".*"] if topics is None else parse_list("--topics", topics))
    except ConfigError as error:
        raise click.UsageError(f"--topics {topics}: {error}") from error
