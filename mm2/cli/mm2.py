"""``mm2``: the commands around mirroring. Each group of them is a module of its own."""

from __future__ import annotations

import os
import shlex
from importlib import import_module
from typing import Final

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from mm2.errors import ConfigError
from mm2.telemetry.log_settings import (
    FORMAT_VARIABLE,
    FORMATS,
    LEVEL_VARIABLE,
    LEVELS_METAVAR,
    LOG_LEVELS,
    NO_COLOUR_VARIABLE,
    StartLevels,
    export_log_settings,
    parse_levels,
)
from mm2.telemetry.logs import configure_command_logs

# Where each command is: a module of ``mm2.cli``, and its name there if it is another one.
_SECTIONS: Final = {
    "Before the start": {
        "demo": "setup.demo_command",
        "init": "setup.init_command",
        "import": "setup.import_command:import_",
        "config": "config_commands",
        "doctor": "setup.doctor_command",
        "plan": "setup.plan_command",
        "render": "setup.render_command",
        "export": "setup.export_command",
        "package-env": "setup.package_env_command:package_env",
    },
    "While it runs": {
        "status": "flows.status_commands",
        "topics": "flows.status_commands",
        "lag": "flows.status_commands",
        "topology": "flows.status_commands",
        "flows": "flows.flows_commands",
        "events": "flows.events_command",
        "heartbeats": "flows.heartbeats_commands",
        "hops": "flows.hops_commands",
        "offsets": "flows.offsets_commands",
        "verify": "verify_command",
        "dump": "dump_commands",
        "dump-log": "dump_log_command:dump_log",
    },
    "Consumer groups": {
        "groups": "groups.groups_commands",
        "checkpoints": "groups.checkpoints_commands",
        "translate": "groups.translate_commands",
        "sync-groups": "groups.sync_groups_commands:sync_groups",
        "failover": "groups.failover_commands",
        "failback": "groups.failback_commands",
        "offset-manager": "offset_manager_commands:offset_manager",
    },
    "Other commands": {"completion": "setup.completion_command"},
}
_PLACES: Final = {name: place for section in _SECTIONS.values() for name, place in section.items()}


class SectionedGroup(click.Group):
    """A group that imports a command when it is asked for, and shows its commands in sections."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The names of all commands, sorted."""
        return sorted(_PLACES)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports a command; None if there is none of that name."""
        if cmd_name not in _PLACES:
            return None
        module, _, attribute = _PLACES[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"mm2.cli.{module}"), attribute or cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the sections."""
        for title, names in _SECTIONS.items():
            commands = {name: self.get_command(ctx, name) for name in names}
            with formatter.section(title):
                formatter.write_dl(
                    [(name, each.get_short_help_str(60)) for name, each in commands.items() if each]
                )


@add_completion_class
class QuotingBash(BashComplete):
    """Quotes what it completes, as other shells do: the end of ``A->B`` would be a redirection."""

    name = "bash"

    def format_completion(self, item: CompletionItem) -> str:
        """One line for the script: a kind and a value."""
        value = shlex.quote(item.value) if item.type == "plain" else item.value
        return f"{item.type},{value}"


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
@click.option("--no-color", is_flag=True, help="No colours, as with $NO_COLOR.")
def main(log_level: str | None, log_format: str | None, *, no_color: bool) -> None:
    """
    Mirrors Kafka clusters: MirrorMaker 2 in Python, its data plane on Spark.

    Commands that take a FILE take the one that MM2_CONFIG names, or ./mm2.properties, if none is
    given.
    """
    if no_color:
        os.environ[NO_COLOUR_VARIABLE] = "1"
    try:
        export_log_settings(log_level, log_format)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    configure_command_logs(_parsed(log_level))


if __name__ == "__main__":
    main()
