"""``mm2 config``: what a properties file means, and what is wrong with it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from mm2.cli.completing import flow_option
from mm2.cli.options import (
    CHECK_FAILED,
    FORMAT,
    UNREACHABLE,
    USAGE,
    end,
    flows_of,
    run,
    wrong_flows,
)
from mm2.cli.rows import Row, rendered
from mm2.cli.watching import styled
from mm2.config.checks.failed_flows import FlowsOfFile
from mm2.config.checks.findings import Finding, Severity
from mm2.config.flow_config import FlowConfig
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.overrides import apply_valid_overrides
from mm2.config.pages.config_dump import Dump, Rejected, dump
from mm2.config.pages.explain import Section, explain
from mm2.config.text.properties import PropertiesFile, load
from mm2.core.model import SourceAndTarget
from mm2.errors import ClusterError, ConfigError, ConfigErrors
from mm2.herder.control.flow_commands import FlowCommands
from mm2.kafka.flow_clusters import admin_clients

_FILE = click.Path(path_type=Path)
_SETTING_COLUMNS: Final = ("flow", "part", "key", "value", "origin")
_FINDING_COLUMNS: Final = ("file", "severity", "key", "value", "line", "message", "suggestion")


@click.group()
def config() -> None:
    """Shows and checks properties files."""


@config.command("dump")
@click.argument("files", type=_FILE, nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["json"]),
    default="json",
    show_default=True,
    help="One line for each file.",
)
def dump_command(files: tuple[Path, ...], format_: str) -> None:
    """
    Prints what Kafka's MirrorMaker computes of each file, one line of JSON per file.

    The line holds the flows, the worker settings of each flow and the settings of its three
    connectors. Or it holds the error for which Kafka's MirrorMaker rejects the file. Values are
    exact: passwords are NOT hidden. The exit status is 0 even if files are rejected.
    """
    assert format_ == "json"  # noqa: S101 - the only choice
    for file in files:
        click.echo(json.dumps(_dumped(file)))


def _dumped(file: Path) -> Dump | Rejected:
    try:
        return dump(file.read_bytes())
    except OSError as error:
        return {"error": f"cannot read {file}: {error.strerror or error}"}


@config.command("explain")
@click.argument("file", type=_FILE)
@flow_option("Only this flow, written A->B.")
@click.option("--key", "pattern", help="Only keys that contain this text.")
@FORMAT
@click.option(
    "--all", "everything", is_flag=True, help="Also keys that nobody has set, with their defaults."
)
@click.option(
    "--live",
    is_flag=True,
    help="Also what mm2 flows alter has changed; asks the flows' target clusters.",
)
def explain_command(
    file: Path, flow: str | None, pattern: str | None, format_: str, *, everything: bool, live: bool
) -> None:
    """
    Shows for each effective setting where its value comes from: the key, its level and its line.

    Secrets are hidden. JSON has an object for each part of a flow, YAML and TSV a row for each
    setting.

    Exit status: 0 done, 1 the file is wrong, or with --live a flow cannot run for what it says,
    2 wrong usage, 3 with --live: a target cannot be reached.
    """
    try:
        maker = MirrorMakerConfig.of(_loaded(file))
        of_file = flows_of(file, flow) if live else FlowsOfFile(maker=maker, flows=())
        altered, problems = _altered(of_file.flows)
        found = explain(maker, everything=everything, altered=altered)
        sections = [s for s in found if flow in (None, s.flow)]
    except ConfigErrors as errors:
        for problem in errors.problems:
            click.echo(f"{file}: {problem}", err=True)
        sys.exit(1)
    if not sections and flow:
        raise click.UsageError(
            f"There is no flow {flow}; flows are {', '.join(map(str, maker.cluster_pairs()))}."
        )
    chosen = [section.only(pattern or "") for section in sections]
    if format_ == "json":
        click.echo(json.dumps([section.as_json() for section in chosen], indent=2))
    elif format_ == "table":
        _print_sections(chosen)
    else:
        click.echo(rendered(_SETTING_COLUMNS, [*_setting_rows(chosen)], format_))
    wrong = wrong_flows(file, of_file.failed)
    if problems or wrong:
        status = UNREACHABLE if problems else CHECK_FAILED
        end(status, *wrong, *(f"{each}; what is altered there is not known" for each in problems))


def _altered(
    configs: Sequence[FlowConfig],
) -> tuple[dict[SourceAndTarget, MirrorMakerConfig], list[ClusterError]]:
    """
    The file as flows have it with what is altered and fits, asked from their targets.

    Returns:
        That of the flows whose targets answer, and why others do not.
    """

    async def work() -> tuple[dict[SourceAndTarget, MirrorMakerConfig], list[ClusterError]]:
        asking = [_asked(config) for config in configs]
        answers = await asyncio.gather(*asking)
        found = {
            config.flow: maker
            for config, maker in zip(configs, answers, strict=True)
            if isinstance(maker, MirrorMakerConfig)
        }
        return found, [each for each in answers if isinstance(each, ClusterError)]

    return run(work)


async def _asked(config: FlowConfig) -> MirrorMakerConfig | ClusterError | None:
    try:
        async with admin_clients(config) as clusters:
            altered = await FlowCommands(config, clusters).alterations()
    except ClusterError as error:
        return error
    return apply_valid_overrides(config, altered.changes).config.maker


def _setting_rows(sections: Iterable[Section]) -> Iterator[Row]:
    for each in sections:
        for line in each.lines:
            setting = {"key": line.key, "value": line.value, "origin": line.origin}
            yield {"flow": each.flow, "part": each.part, **setting}


def _print_sections(sections: list[Section]) -> None:
    for section in sections:
        click.echo(styled(f"{section.flow} {section.part}", bold=True))
        width = max((len(line.key) for line in section.lines), default=0)
        for line in section.lines:
            origin = styled(f"<- {line.origin}", dim=True)
            click.echo(f"  {line.key:<{width}} = {line.value}  {origin}")


@config.command("validate")
@click.argument("files", type=_FILE, nargs=-1, required=True, metavar="FILE...")
@FORMAT
def validate_command(files: tuple[Path, ...], format_: str) -> None:
    """
    Reports everything that is wrong in a file, all at once.

    JSON has a line for each finding.

    Exit status: 0 nothing wrong (notes on older spellings do not count), 1 warnings alone, which
    Kafka's MirrorMaker would run with, 2 errors, or a file cannot be read.
    """
    found = [(file, finding) for file in files for finding in _found(file)]
    all_ = [finding.severity for _, finding in found]
    errors, warnings = all_.count(Severity.ERROR), all_.count(Severity.WARNING)
    rows = [_finding_row(*each) for each in found]
    if format_ == "table":
        for file, finding in found:
            click.echo(f"{file}: {finding.severity.value}: {finding.problem}")
        click.echo(f"{_counted(errors, 'error')}, {_counted(warnings, 'warning')}")
    elif format_ == "json":
        click.echo("".join(f"{json.dumps(row)}\n" for row in rows), nl=False)
    else:
        click.echo(rendered(_FINDING_COLUMNS, rows, format_))
    sys.exit(USAGE if errors else CHECK_FAILED if warnings else 0)


def _finding_row(file: Path, finding: Finding) -> Row:
    problem = finding.problem
    return {
        "file": str(file),
        "severity": finding.severity.value,
        "key": problem.key,
        "value": problem.value,
        "line": problem.line,
        "message": problem.message,
        "suggestion": problem.suggestion,
    }


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _found(file: Path) -> list[Finding]:
    # It makes all that a run needs, whose libraries no other command of these has to import.
    from mm2.driver.file_validation import validate  # noqa: PLC0415

    try:
        return validate(load(file))
    except ConfigError as error:
        if error.line is None:
            raise click.UsageError(str(error)) from error
        return [Finding(severity=Severity.ERROR, problem=error)]


def _loaded(file: Path) -> PropertiesFile:
    """Reads a file; one that cannot be read or parsed is wrong usage."""
    try:
        return load(file)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
