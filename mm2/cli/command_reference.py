"""Makes the page of all commands, ``docs/reference/commands.md``, from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Final

import click

from mm2.cli.mm2 import main

_HEAD: Final = """\
# Commands and exit statuses

Made by `scripts/generate-docs` from the commands; `--help` prints the same.

## connect-mirror-maker

    connect-mirror-maker [-daemon] FILE [--clusters CLUSTER ...]

Runs the flows of a properties file until it is told to stop. `--clusters` restricts it to the flows
*into* these clusters. `-daemon`, before everything else, starts it in the background.

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

Run MirrorMaker's connectors in [Connect's way](../how-to/run-in-connect.md) until told to stop: one
worker with the connectors of some files, or one worker of a group whose connectors come and go over
REST.

| status | |
|---|---|
| 0 | stopped by SIGTERM or SIGINT, drained and committed; `--help` |
| 1 | the worker failed; no arguments |
| 2 | a file is wrong, or cannot be read |
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

_SEE: Final = {
    "checkpoints": "[Watch groups](../how-to/watch-groups.md)",
    "dump": "[Internal topics](internal-topics.md)",
    "failback": "[Failback](../runbooks/failback.md)",
    "failover": "[Migrate a consumer group](../runbooks/migrate-a-consumer-group.md), "
    "[unplanned failover](../runbooks/unplanned-failover.md)",
    "flows": "[Change a running mirror](../how-to/change-a-running-mirror.md)",
    "groups": "[Watch groups](../how-to/watch-groups.md)",
    "heartbeats": "[Watch groups](../how-to/watch-groups.md)",
    "offsets": "[Move positions](../how-to/move-positions.md)",
    "status": "[See what a mirror does](../how-to/see-what-a-mirror-does.md)",
    "sync-groups": "[Who is on the way back]"
    "(../explanation/reverse-checkpoints.md#who-is-on-the-way-back)",
    "translate": "[Offset translation](../explanation/offset-translation.md)",
}


def reference_page() -> str:
    """The whole page, in Markdown."""
    commands = "".join(
        _section(command, f"mm2 {name}", see=_SEE.get(name))
        for name, command in sorted(main.commands.items())
    )
    return f"{_HEAD}{commands}{_TAIL}"


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
        parts += [_text(command), f"See {see}.\n" if see else ""]
        parts += [
            _section(each, f"{path} {name}", parent=context)
            for name, each in sorted(command.commands.items())
        ]
        return "".join(parts)
    usage = " ".join(command.collect_usage_pieces(context))
    parts += [f"    {path} {usage}\n\n", _text(command), f"\nSee {see}.\n" if see else ""]
    if rows := list(_rows(command, context)):
        parts += ["\n| option | |\n|---|---|\n", *rows]
    return "".join(parts)


def _text(command: click.Command) -> str:
    """The help as paragraphs of one line each; exit statuses are a paragraph, too."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(_code(" ".join(each.split())) for each in paragraphs) + "\n"


def _rows(command: click.Command, context: click.Context) -> Iterator[str]:
    for option in command.params:
        record = option.get_help_record(context)
        if record is not None:
            names, text = record
            yield f"| `{names}` | {_code(text)} |\n".replace("\n", " ").rstrip() + "\n"


def _code(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
