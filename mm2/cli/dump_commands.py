"""``mm2 dump``: the records of an internal topic, as Java's console formatters print them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import click

from mm2.cli.options import CHECK_FAILED, USAGE, end, maker_of, refuse_usage, run
from mm2.cli.rows import FORMATS, Row, rendered
from mm2.client.client_config import ClientConfig
from mm2.client.formatters import FORMATTERS, FormattedRecord, Formatter, formatter_for
from mm2.client.topic_records import records_of
from mm2.config.text.client_file import load_client_file
from mm2.core.model import TopicName
from mm2.errors import ConfigError, ConfigErrors, InvalidArgument
from mm2.kafka.client_errors import UnknownTopic
from mm2.kafka.logs.records import Record

_TEXT: Final = "text"
_TSV: Final = "tsv"
_PATH: Final = click.Path(path_type=Path)


@click.command("dump")
@click.argument("topic")
@click.option("--bootstrap-server", metavar="HOST:PORT,...", help="The cluster's brokers.")
@click.option(
    "--command-config", type=_PATH, help="Properties of its clients, with --bootstrap-server."
)
@click.option(
    "--command-property",
    "command_properties",
    multiple=True,
    metavar="KEY=VALUE",
    help="One of them, over those of --command-config; may be repeated.",
)
@click.option(
    "--config", "file", type=_PATH, help="A file for mirroring that knows the cluster ..."
)
@click.option("--cluster", metavar="ALIAS", help="... and its alias there.")
@click.option(
    "--kind",
    type=click.Choice(list(FORMATTERS)),
    help="What the topic holds, if its name does not say.",
)
@click.option(
    "--partition", "partitions", type=click.IntRange(min=0), multiple=True, help="May be repeated."
)
@click.option(
    "--from-beginning/--from-end",
    default=True,
    show_default="--from-beginning",
    help="Whether what is there already is printed.",
)
@click.option("--follow", is_flag=True, help="Goes on with new records until interrupted.")
@click.option("--max-messages", type=click.IntRange(min=1), metavar="N", help="Ends after so many.")
@click.option(
    "--format",
    "format_",
    type=click.Choice([_TEXT, *FORMATS]),
    default=_TEXT,
    show_default=True,
    help="text: one line a record, as Kafka's formatters print it.",
)
def dump(  # noqa: PLR0917 - options
    topic: str,
    bootstrap_server: str | None,
    command_config: Path | None,
    command_properties: tuple[str, ...],
    file: Path | None,
    cluster: str | None,
    kind: str | None,
    partitions: tuple[int, ...],
    max_messages: int | None,
    format_: str,
    *,
    from_beginning: bool,
    follow: bool,
) -> None:
    """
    Prints the records of a topic that mm2 or Kafka's MirrorMaker keeps for itself.

    Checkpoints, heartbeats and offset syncs print as with Kafka's formatters; exact runs,
    positions, control and progress records likewise. A record that cannot be read is shown as such.

    Of __consumer_offsets, and of an offset manager's topic (--kind offset-manager), it shows what
    groups have committed.

    Exit status: 0 done, 1 there is no such topic, or records of it cannot be read, 2 wrong usage, 3
    the cluster cannot be reached or refuses.
    """
    refuse_usage(
        [
            *_cluster_problems(bootstrap_server, file, cluster),
            *_property_problems(bootstrap_server, command_config, command_properties),
            *_follow_problems(format_, follow=follow, from_beginning=from_beginning),
        ]
    )
    config = _client(bootstrap_server, command_config, command_properties, file, cluster)
    formatter = _formatter(TopicName(topic), config, kind)
    printer = _Printer(formatter, format_)

    async def printed() -> None:
        records = records_of(
            config, TopicName(topic), partitions, from_end=not from_beginning, follow=follow
        )
        try:
            async with aclosing(records):
                await printer.take(records, max_messages)
        except UnknownTopic as error:
            end(CHECK_FAILED, str(error))
        except InvalidArgument as error:
            end(USAGE, str(error))

    with suppress(KeyboardInterrupt):
        run(printed)
    printer.finish()


@dataclass
class _Printer:
    """Prints records one by one where the format allows, and counts what cannot be read."""

    formatter: Formatter
    format: str
    unreadable: int = 0
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.format == _TSV:
            click.echo("\t".join(self.formatter.all_columns))

    async def take(self, records: AsyncIterator[Record], most: int | None) -> None:
        taken = 0
        async for record in records:
            self._print(self.formatter.shown(record))
            taken += 1
            if taken == most:
                break

    def finish(self) -> None:
        """Prints what had to wait for the end; exits with 1 if something could not be read."""
        if self.format not in {_TEXT, _TSV}:
            click.echo(rendered(self.formatter.all_columns, self.rows, self.format))
        if self.unreadable:
            end(CHECK_FAILED, f"{self.unreadable} records cannot be read.")

    def _print(self, shown: FormattedRecord) -> None:
        self.unreadable += not shown.readable
        if self.format == _TEXT:
            click.echo(shown.line)
        elif self.format == _TSV:
            line = rendered(self.formatter.all_columns, [shown.fields], _TSV)
            click.echo(line.partition("\n")[2])
        else:
            self.rows.append(shown.fields)


def _cluster_problems(servers: str | None, file: Path | None, cluster: str | None) -> Iterator[str]:
    if (servers is None) == (file is None):
        yield "Say which cluster: --bootstrap-server, or --config with --cluster."
    elif (file is None) != (cluster is None):
        yield "--config and --cluster belong together."


def _property_problems(
    servers: str | None, command_config: Path | None, command_properties: Sequence[str]
) -> Iterator[str]:
    if command_config is not None and servers is None:
        yield "--command-config belongs to --bootstrap-server."
    if command_properties and servers is None:
        yield "--command-property belongs to --bootstrap-server."
    for text in command_properties:
        if not text.partition("=")[0].strip() or "=" not in text:
            yield "--command-property: write KEY=VALUE."


def _follow_problems(format_: str, *, follow: bool, from_beginning: bool) -> Iterator[str]:
    if follow and format_ not in {_TEXT, _TSV}:
        yield f"--follow never ends, and --format {format_} prints at the end: use text or tsv."
    if not follow and not from_beginning:
        yield "--from-end prints nothing without --follow."


def _client(
    servers: str | None,
    command_config: Path | None,
    command_properties: Sequence[str],
    file: Path | None,
    cluster: str | None,
) -> ClientConfig:
    try:
        if file is not None:
            return _of_file(file, cluster or "")
        properties = load_client_file(command_config).values if command_config else {}
        pairs = (text.partition("=") for text in command_properties)
        over = {key.strip(): value.strip() for key, _, value in pairs}
        return ClientConfig.of({**properties, **over, "bootstrap.servers": servers or ""})
    except ConfigErrors as errors:
        end(USAGE, *map(str, errors.problems))
    except ConfigError as error:
        end(USAGE, str(error))


def _of_file(file: Path, cluster: str) -> ClientConfig:
    maker = maker_of(file)
    if cluster not in maker.clusters:
        raise ConfigError(f"{file} has no cluster {cluster}; it has {', '.join(maker.clusters)}.")
    return ClientConfig.of_cluster(maker, cluster)


def _formatter(topic: TopicName, config: ClientConfig, kind: str | None) -> Formatter:
    if kind is not None:
        return FORMATTERS[kind]
    if (found := formatter_for(topic, config.policy())) is not None:
        return found
    raise click.UsageError(
        f"The name {topic} does not say what it holds; choose with --kind. "
        "It may have another separator: see replication.policy.separator."
    )
