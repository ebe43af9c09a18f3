"""``mm2 offset-manager load-test``: many groups that commit and fetch, and what comes of it."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mm2.cli.options import CHECK_FAILED, FORMAT, UNREACHABLE, USAGE, end, tell
from mm2.cli.rows import Row, rendered
from mm2.config.text.client_file import load_client_file
from mm2.errors import ClusterError, ConfigError

if TYPE_CHECKING:  # --help answers at once without it.
    from mm2.kafka.groups.offset_load import Load, LoadResult

_COLUMNS: Final = ("calls", "answered", "per_second", "p50_ms", "p99_ms", "max_ms", "errors")


@click.command("load-test")
@click.option("--bootstrap-server", metavar="HOST:PORT,...", required=True, help="The instances.")
@click.option("--topic", required=True, help="Whose partitions are committed; it has to be there.")
@click.option("--groups", type=click.IntRange(1), default=1_000, show_default=True)
@click.option(
    "--commit-threads", type=click.IntRange(1), default=4, show_default=True, help="Who commit."
)
@click.option(
    "--fetch-threads", type=click.IntRange(0), default=4, show_default=True, help="Who fetch."
)
@click.option(
    "--seconds", type=click.FloatRange(0.1), default=30.0, show_default=True, help="For how long."
)
@click.option(
    "--consumers",
    is_flag=True,
    help="A consumer for each group, which takes threads; needed where instances are killed.",
)
@click.option(
    "--compare",
    metavar="HOST:PORT,...",
    help="A cluster of which the same is asked: its coordinators and __consumer_offsets.",
)
@click.option(
    "--command-config",
    "file",
    type=click.Path(path_type=Path),
    help="Properties of the clients; with --compare, of both.",
)
@FORMAT
def load_test(  # noqa: PLR0917 - options
    bootstrap_server: str,
    topic: str,
    groups: int,
    commit_threads: int,
    fetch_threads: int,
    seconds: float,
    compare: str | None,
    file: Path | None,
    format_: str,
    *,
    consumers: bool,
) -> None:
    """
    Commits and fetches offsets of many groups at once, with confluent-kafka.

    Each group commits all partitions of the topic with one offset, which grows. A fetch is wrong if
    it shows less than was acknowledged before it began (stale), different offsets (partial), or one
    that was never committed (unknown). At the end all groups are looked at: an acknowledged commit
    that is not there is lost. The groups are new ones, and stay until they expire.

    Exit status: 0 all is as it should be, 1 an answer was wrong or a commit is lost, 2 wrong usage,
    3 nobody answers, or there is no such topic.
    """
    from mm2.kafka.groups.offset_load import Load  # noqa: PLC0415 - takes a while

    prefix = f"mm2-load-test-{secrets.token_hex(4)}"
    asked = Load(
        topic=topic,
        groups=[f"{prefix}-{number}" for number in range(groups)],
        committers=commit_threads,
        fetchers=fetch_threads,
        seconds=seconds,
        by_consumers=consumers,
    )
    ours = _run(bootstrap_server, file, asked)
    rows = _rows("", ours)
    if compare is not None:
        theirs = _run(compare, file, asked)
        rows += [*_rows("Kafka: ", theirs), *_ratios(ours, theirs)]
    click.echo(rendered(_COLUMNS, rows, format_))
    tell([f"{groups} groups with {ours.partitions} partitions each."])
    if ours.wrong:
        end(CHECK_FAILED, *(f"{word}: {count}" for word, count in sorted(ours.wrong.items())))


def _run(servers: str, file: Path | None, asked: Load) -> LoadResult:
    from mm2.kafka.groups.offset_load import run_load  # noqa: PLC0415 - see above

    try:
        properties = load_client_file(file).values if file else {}
        return run_load(servers, {**properties, "bootstrap.servers": servers}, asked)
    except ConfigError as error:
        end(USAGE, str(error))
    except ClusterError as error:
        end(UNREACHABLE, str(error))


def _rows(prefix: str, result: LoadResult) -> list[Row]:
    return [
        result.commits.row(f"{prefix}commits", result.seconds),
        result.fetches.row(f"{prefix}fetches", result.seconds),
    ]


def _ratios(ours: LoadResult, theirs: LoadResult) -> list[Row]:
    from mm2.core.offset_manager.load_findings import ratios  # noqa: PLC0415 - see above

    kinds = {"commits": (ours.commits, theirs.commits), "fetches": (ours.fetches, theirs.fetches)}
    found = {name: ratios(*pair) for name, pair in kinds.items()}
    return [
        {
            **dict.fromkeys(_COLUMNS),
            "calls": f"{name}: ours / Kafka's",
            "errors": f"throughput {throughput}, p99 {p99}",
        }
        for name, (throughput, p99) in found.items()
    ]
