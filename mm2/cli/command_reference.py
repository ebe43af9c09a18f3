"""Makes the page of all commands, ``docs/reference/commands.md``, from the commands themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Final

import click

from mm2.cli.mm2 import main
from mm2.config.legacy.flags import FLAGS, Flag

_HEAD: Final = """\
# Commands and exit statuses

Made by `scripts/generate-docs` from the commands; `--help` prints the same.

## connect-mirror-maker

    connect-mirror-maker [-daemon] FILE [--clusters CLUSTER ...] [options]

Runs the flows of a properties file until it is told to stop. `--clusters` restricts it to the flows
*into* these clusters. `-daemon`, before everything else, starts it in the background. There
are `--version`, too, and `--log-level` and `--log-format` for
[what it logs, and how](../how-to/read-the-log.md).

| status | |
|---|---|
| 0 | stopped by SIGTERM or SIGINT, drained and committed; `--help` |
| 1 | a herder failed; no arguments |
| 2 | the file is wrong |
| 3 | Spark does not start |
| 128 + n | a second signal n ended it at once |
| 255 | wrong arguments, or a file that cannot be read |

Those up to 3, and 255, are those of Kafka's MirrorMaker.

## connect-standalone, connect-distributed

    connect-standalone [-daemon] WORKER.properties [CONNECTOR.properties|CONNECTOR.json ...]
    connect-distributed [-daemon] WORKER.properties

Run MirrorMaker's connectors in [Connect's way](../how-to/run-in-connect.md) until told to stop. The
first is one worker with the connectors of some files. The other is one of a group, whose connectors
come and go over REST. Both have `--log-level`, `--log-format` and `--version`, too.

| status | |
|---|---|
| 0 | stopped by SIGTERM or SIGINT, drained and committed; `--help` |
| 1 | the worker failed; no arguments |
| 2 | a file is wrong, or cannot be read |
| 3 | Spark does not start |
| 128 + n | a second signal n ended it at once |

## mm2

    mm2 [options] COMMAND ...

`--watch` shows a state again and again, and `--format` is there where rows are shown. Commands that
change settings, positions or offsets of groups only show what they would do, unless `--execute` is
given. Before the command there may be

| option | |
|---|---|
"""

_LEGACY: Final = """
## kafka-mirror-maker

    kafka-mirror-maker --consumer.config FILE --producer.config FILE --include TOPICS [options]

Copies topics as a consumer group, as the tool before MirrorMaker 2 did:
[how to run it](../how-to/run-the-legacy-mirror-maker.md).

| flag | |
|---|---|
"""

_LEGACY_STATUSES: Final = """
| status | |
|---|---|
| 0 | stopped by SIGTERM or SIGINT, and committed; `--help` |
| 1 | a stream failed; wrong arguments or files |
| 3 | Spark does not start |
| 128 + n | a second signal n ended it at once |
"""

_TAIL: Final = """
## In a clone

| | |
|---|---|
| `./scripts/setup` | makes `.venv` with pinned dependencies, fetches Kafka; only what is missing |
| `./scripts/demo [--once]` | two clusters that mirror each other; see `--help` |
| `./scripts/bench all` | [mm2 beside Kafka's MirrorMaker](../how-to/measure.md) |
| `./scripts/check`, `./scripts/test` | style and types; tests (`--thorough`: the long ones, too) |
"""

_STATUSES: Final = "Exit status: "
_NEXT_STATUS: Final = re.compile(r"[,;] (?=\d+ )")

_SEE: Final = {
    "checkpoints": "[Watch groups](../how-to/watch-groups.md)",
    "completion": "[Prepare a mirror](../how-to/prepare-a-mirror.md)",
    "demo": "[Install mm2](../how-to/install.md#see-it-work)",
    "doctor": "[Prepare a mirror](../how-to/prepare-a-mirror.md)",
    "dump": "[Internal topics](internal-topics.md)",
    "events": "[Read the log](../how-to/read-the-log.md)",
    "export": "[Prepare a mirror](../how-to/prepare-a-mirror.md)",
    "failback": "[Failback](../runbooks/failback.md)",
    "failover": "[Migrate a consumer group](../runbooks/migrate-a-consumer-group.md), "
    "[unplanned failover](../runbooks/unplanned-failover.md)",
    "flows": "[Change a running mirror](../how-to/change-a-running-mirror.md)",
    "groups": "[Watch groups](../how-to/watch-groups.md)",
    "heartbeats": "[Watch groups](../how-to/watch-groups.md)",
    "offset-manager": "[Run the offset manager](../how-to/run-the-offset-manager.md)",
    "offsets": "[Move positions](../how-to/move-positions.md)",
    "import": "[Prepare a mirror](../how-to/prepare-a-mirror.md)",
    "init": "[Prepare a mirror](../how-to/prepare-a-mirror.md)",
    "plan": "[Prepare a mirror](../how-to/prepare-a-mirror.md)",
    "status": "[See what a mirror does](../how-to/see-what-a-mirror-does.md)",
    "sync-groups": "[Who is on the way back]"
    "(../explanation/reverse-checkpoints.md#who-is-on-the-way-back)",
    "verify": "[Verify a copy](../how-to/verify-a-copy.md), "
    "[replicas and groups](../how-to/verify-replicas-and-groups.md)",
    "translate": "[Offset translation](../explanation/offset-translation.md)",
}


def reference_page() -> str:
    """The whole page, in Markdown."""
    commands = "".join(
        _section(command, f"mm2 {name}", see=_SEE.get(name))
        for name, command in _commands_of(main, click.Context(main))
    )
    options = "".join(_rows(main, click.Context(main, info_name="mm2")))
    return f"{_HEAD}{options}{_legacy()}{commands}{_TAIL}"


def _legacy() -> str:
    rows = "".join(f"| {_spellings(flag)} | {_cell(_flag_text(flag))} |\n" for flag in FLAGS)
    return f"{_LEGACY}{rows}{_LEGACY_STATUSES}"


def _spellings(flag: Flag) -> str:
    value = f" {_cell(flag.value)}" if flag.value else ""
    return ", ".join(f"`{name}`" for name in (flag.name, *flag.aliases)) + value


def _flag_text(flag: Flag) -> str:
    older = ", ".join(f"`{name}`" for name in flag.older)
    return f"{flag.doc} Deprecated: {older}." if older else flag.doc


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _section(
    command: click.Command,
    path: str,
    *,
    see: str | None = None,
    parent: click.Context | None = None,
) -> str:
    context = click.Context(command, parent=parent, info_name=path.rpartition(" ")[2])
    level = "##" if parent is None else "###"
    parts = [f"\n{level} {path}\n\n"]
    if isinstance(command, click.Group):
        parts += [_text(command), f"\nSee {see}.\n" if see else ""]
        parts += [
            _section(each, f"{path} {name}", parent=context)
            for name, each in _commands_of(command, context)
        ]
        return "".join(parts)
    usage = " ".join(command.collect_usage_pieces(context))
    parts += [f"    {path} {usage}\n\n", _text(command), f"\nSee {see}.\n" if see else ""]
    if rows := list(_rows(command, context)):
        parts += ["\n| option | |\n|---|---|\n", *rows]
    return "".join(parts)


def _commands_of(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        if command := group.get_command(context, name):
            yield name, command


def _text(command: click.Command) -> str:
    """The help as paragraphs of one line each; exit statuses are a table."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    lines = (_code(" ".join(each.split())) for each in paragraphs)
    return "\n\n".join(map(_with_statuses, lines)) + "\n"


def _with_statuses(text: str) -> str:
    listed, end, more = text.removeprefix(_STATUSES).partition(". ")
    statuses = _NEXT_STATUS.split(listed.rstrip("."))
    if not text.startswith(_STATUSES) or len(statuses) == 1:
        return text
    rows = (" | ".join(each.split(" ", maxsplit=1)) for each in statuses)
    table = "| status | |\n|---|---|\n" + "\n".join(f"| {row} |" for row in rows)
    return f"{table}\n\n{more}" if end else table


def _rows(command: click.Command, context: click.Context) -> Iterator[str]:
    for option in command.params:
        record = option.get_help_record(context)
        if record is not None:
            names, text = record
            yield f"| {_names(names)} | {_code(text)} |\n".replace("\n", " ").rstrip() + "\n"


def _names(text: str) -> str:
    """As code in a table; GitHub and the site do not agree on a bar in backticks."""
    return f"<code>{text.replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def _code(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
