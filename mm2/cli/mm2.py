"""``mm2``: the commands around mirroring. Each group of them is a module of its own."""

from __future__ import annotations

from typing import Final

import click

from mm2.cli.config_commands import config
from mm2.cli.dump_commands import dump
from mm2.cli.dump_log_command import dump_log
from mm2.cli.flows.alter_command import alter, limit
from mm2.cli.flows.events_command import events
from mm2.cli.flows.flows_commands import flows
from mm2.cli.flows.heartbeats_commands import heartbeats
from mm2.cli.flows.hops_commands import hops
from mm2.cli.flows.offsets_commands import offsets
from mm2.cli.flows.status_commands import lag, status, topics, topology
from mm2.cli.groups.checkpoints_commands import checkpoints
from mm2.cli.groups.failback_commands import failback
from mm2.cli.groups.failover_commands import failover
from mm2.cli.groups.groups_commands import groups
from mm2.cli.groups.sync_groups_commands import sync_groups
from mm2.cli.groups.translate_commands import translate
from mm2.cli.offset_manager_commands import offset_manager
from mm2.cli.setup.completion_command import completion
from mm2.cli.setup.demo_command import demo
from mm2.cli.setup.doctor_command import doctor
from mm2.cli.setup.export_command import export
from mm2.cli.setup.import_command import import_
from mm2.cli.setup.init_command import init
from mm2.cli.setup.package_env_command import package_env
from mm2.cli.setup.plan_command import plan
from mm2.cli.setup.render_command import render
from mm2.cli.verify_command import verify
from mm2.errors import ConfigError
from mm2.telemetry.log_settings import (
    FORMAT_VARIABLE,
    FORMATS,
    LEVEL_VARIABLE,
    LEVELS_METAVAR,
    LOG_LEVELS,
    StartLevels,
    export_log_settings,
    parse_levels,
)
from mm2.telemetry.logs import configure_command_logs

_SECTIONS: Final = {
    "Before the start": (
        "demo",
        "init",
        "import",
        "config",
        "doctor",
        "plan",
        "render",
        "export",
        "package-env",
    ),
    "While it runs": (
        "status",
        "topics",
        "lag",
        "topology",
        "flows",
        "events",
        "heartbeats",
        "hops",
        "offsets",
        "verify",
        "dump",
        "dump-log",
    ),
    "Consumer groups": (
        "groups",
        "checkpoints",
        "translate",
        "sync-groups",
        "failover",
        "failback",
        "offset-manager",
    ),
}
_OTHERS: Final = "Other commands"


class SectionedGroup(click.Group):
    """A group whose help has its commands in sections; what is in none comes last."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the sections."""
        placed = {name for names in _SECTIONS.values() for name in names}
        rest = tuple(name for name in self.list_commands(ctx) if name not in placed)
        for title, names in {**_SECTIONS, _OTHERS: rest}.items():
            known = [(name, self.commands[name]) for name in names if name in self.commands]
            rows = [(name, each.get_short_help_str(60)) for name, each in known]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _levels(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    try:
        _parsed(value)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from error
    return value


def _parsed(levels: str | None) -> StartLevels:
    return parse_levels(levels or "", default="warning")


@click.group(cls=SectionedGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mm2")
@click.option(
    "--log-level",
    metavar=LEVELS_METAVAR,
    callback=_levels,
    help="The least level that goes to standard error, of all events or of those of a noun, such as"
    f" source=debug; and ${LEVEL_VARIABLE} of Spark's tasks. Levels are {', '.join(LOG_LEVELS)}."
    "  [default: warning]",
)
@click.option(
    "--log-format",
    type=click.Choice(FORMATS, case_sensitive=False),
    help=f"Of a command that runs until it is stopped; default: ${FORMAT_VARIABLE}, else auto.",
)
def main(log_level: str | None, log_format: str | None) -> None:
    """
    Mirrors Kafka clusters: MirrorMaker 2 in Python, its data plane on Spark.

    Commands that take a FILE take the one that MM2_CONFIG names, or ./mm2.properties, if none is
    given.
    """
    try:
        export_log_settings(log_level, log_format)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    configure_command_logs(_parsed(log_level))


for command in (alter, limit):
    flows.add_command(command)

for command in (
    checkpoints,
    completion,
    config,
    demo,
    doctor,
    dump,
    dump_log,
    events,
    export,
    failback,
    failover,
    flows,
    groups,
    heartbeats,
    hops,
    import_,
    init,
    lag,
    offset_manager,
    offsets,
    package_env,
    plan,
    render,
    status,
    sync_groups,
    topics,
    topology,
    translate,
    verify,
):
    main.add_command(command)

if __name__ == "__main__":
    main()
