"""``mm2 events``: what a running node has logged last, asked over its REST interface."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import click

from mm2.cli.completing import flow_option
from mm2.cli.options import FILE, FORMAT, UNREACHABLE, USAGE, end, maker_of, refuse_usage, tell
from mm2.cli.rows import Row, rendered
from mm2.cli.watching import WATCH, look, run_until_interrupted, show_rows
from mm2.config.rest_settings import rest_of_file
from mm2.config.text.client_file import load_client_file
from mm2.errors import ConfigError, ConfigErrors
from mm2.rest.client.node_client import (
    NodeAddress,
    NodeError,
    addresses_of,
    events_after,
    first_that_answers,
)
from mm2.telemetry.events import EVENTS
from mm2.telemetry.log_settings import LOG_LEVELS
from mm2.telemetry.recent_events import RecentEvent

_PASSWORD_VARIABLE: Final = "MM2_REST_PASSWORD"  # noqa: S105 - the name of one
_COLUMNS: Final = ("time", "level", "event", "flow", "details")
_FOLLOW_S: Final = 1.0
_MOST_MISSING: Final = 50_000
"""A process that is started anew goes on with numbers that are as many microseconds higher."""

_BAD: Final = LOG_LEVELS.index("warning")


@click.command("events")
@FILE
@click.option("--url", metavar="URL", help="A node's REST interface; else the listeners of FILE.")
@click.option(
    "--user",
    metavar="NAME",
    help=f"Logs in; the password is in ${_PASSWORD_VARIABLE}, or is asked for.",
)
@click.option(
    "--command-config",
    type=click.Path(path_type=Path),
    help="Properties of the client (ssl.*), for https.",
)
@click.option(
    "--level",
    type=click.Choice(LOG_LEVELS, case_sensitive=False),
    default=LOG_LEVELS[0],
    show_default=True,
    help="The least level that is shown.",
)
@flow_option("Only events about this flow, written A->B.")
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="PATTERN",
    help="Only these events, such as flow.led or checkpoint.*; may be repeated.",
)
@click.option(
    "--last",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    metavar="N",
    help="How many of the newest are shown.",
)
@click.option("--follow", is_flag=True, help="Goes on with new events until interrupted.")
@WATCH
@FORMAT
def events(
    file: Path,
    *,
    url: str | None,
    user: str | None,
    command_config: Path | None,
    level: str,
    flow: str | None,
    names: tuple[str, ...],
    last: int,
    follow: bool,
    watch: float | None,
    format_: str,
) -> None:
    """
    Shows the newest events that a running node has logged.

    The node keeps its last 1,000. It is asked over REST, at --url or where FILE has it listen; FILE
    is not read if --url is given. With --follow and json, each event is a line; how many the node
    has dropped between two looks is printed on the standard error.

    Exit status: 0 done, 2 wrong usage, 3 no node can be reached, or it asks for another login.
    """
    problems = [*_problems(names, follow=follow, watch=watch, url=url)]
    refuse_usage(problems)
    addresses = _addresses(file, url, user, command_config, flow)
    chosen = _EventFilter(level, flow, names, last)

    async def work() -> None:
        address = await first_that_answers(addresses)
        if follow:
            await _follow(address, chosen, format_)
            return

        async def newest() -> list[RecentEvent]:
            return chosen.of(await events_after(address, 0))

        await look(newest, lambda found: _show(found, format_), watch)

    try:
        run_until_interrupted(work)
    except NodeError as error:
        end(UNREACHABLE, str(error))


class _EventFilter:
    """Which events are shown."""

    def __init__(self, level: str, flow: str | None, names: Sequence[str], last: int) -> None:
        self._levels = LOG_LEVELS[LOG_LEVELS.index(level) :]
        self._flow = flow
        self._names = names
        self._last = last

    def of(self, events: Iterable[RecentEvent]) -> list[RecentEvent]:
        """The last of those that are meant."""
        return self.all_of(events)[-self._last :]

    def all_of(self, events: Iterable[RecentEvent]) -> list[RecentEvent]:
        """All of those that are meant."""
        return list(filter(self._is_selected, events))

    def _is_selected(self, event: RecentEvent) -> bool:
        return (
            event.level in self._levels
            and self._flow in {None, event.flow}
            and (not self._names or _matches(event.name, self._names))
        )


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _problems(
    names: Iterable[str], *, follow: bool, watch: float | None, url: str | None
) -> Iterator[str]:
    for pattern in names:
        if not any(fnmatchcase(event, pattern) for event in EVENTS):
            yield f"--name {pattern}: there is no such event; docs/reference/events.md has all."
    if follow and watch is not None:
        yield "--follow and --watch: choose one."
    if url is not None and not url.startswith(("http://", "https://")):
        yield f"--url {url}: write it as http://HOST:PORT."


def _addresses(
    file: Path, url: str | None, user: str | None, command_config: Path | None, flow: str | None
) -> list[NodeAddress]:
    try:
        found = [NodeAddress(url=url.rstrip("/"))] if url else _of_file(file, flow)
        tls = None if command_config is None else load_client_file(command_config).values
    except NodeError as error:
        end(UNREACHABLE, str(error))
    except ConfigErrors as errors:
        end(USAGE, *(f"{file}: {problem}" for problem in errors.problems))
    except ConfigError as error:
        end(USAGE, str(error))
    login = None if user is None else (user, _password(user))
    return [replace(each, user=login, tls=each.tls if tls is None else tls) for each in found]


def _of_file(file: Path, flow: str | None) -> list[NodeAddress]:
    maker = maker_of(file)
    flows = [str(each) for each in maker.cluster_pairs()]
    if flow is not None and flow not in flows:
        refuse_usage([f"--flow {flow}: there is no such flow; there are {', '.join(flows)}."])
    return addresses_of(rest_of_file(maker))


def _password(user: str) -> str:
    found = os.environ.get(_PASSWORD_VARIABLE)
    if found is None:
        found = click.prompt(f"Password of {user}", hide_input=True, err=True)
    return str(found)


async def _follow(address: NodeAddress, chosen: _EventFilter, format_: str) -> None:
    """Prints events as they come; a node that is away is asked again until it is back."""
    number, is_away = 0, False
    while True:
        try:
            found = await events_after(address, number)
        except NodeError as error:
            if number == 0:
                raise
            if not is_away:
                tell([f"{error} It is asked again."])
            is_away = True
        else:
            is_away = False
            if missing := _missing_after(number, found):
                tell([f"{missing} events are missing here: {address.url} no longer keeps them."])
            for event in chosen.all_of(found) if number else chosen.of(found):
                click.echo(_line(event, format_))
            number = max([number, *(each.number for each in found)])
        await asyncio.sleep(_FOLLOW_S)


def _missing_after(number: int, found: Sequence[RecentEvent]) -> int:
    """How many events the node has dropped between two looks; none if it was started anew."""
    missing = found[0].number - number - 1 if found and number else 0
    return missing if missing < _MOST_MISSING else 0


def _line(event: RecentEvent, format_: str) -> str:
    if format_ == "json":
        return json.dumps(asdict(event))
    if format_ == "table":
        shown = (event.time, f"{event.level:<8}", event.name, event.flow, event.details)
        return " ".join(filter(None, shown))
    text = rendered(_COLUMNS, [_row(event)], format_)
    return text.partition("\n")[2] if format_ == "tsv" else text


def _show(events: Sequence[RecentEvent], format_: str) -> None:
    if format_ == "json":
        click.echo(json.dumps([asdict(event) for event in events], indent=2))
        return
    is_bad = [LOG_LEVELS.index(each.level) >= _BAD for each in events]
    show_rows(_COLUMNS, [_row(each) for each in events], format_, is_bad)


def _row(event: RecentEvent) -> Row:
    return {
        "time": event.time,
        "level": event.level,
        "event": event.name,
        "flow": event.flow or None,
        "details": event.details or None,
    }
