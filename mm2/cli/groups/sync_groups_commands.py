"""``mm2 sync-groups``: groups of one cluster follow those of another, from one place."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import click

from mm2.cli.check_rows import conclude
from mm2.cli.completing import flow_option
from mm2.cli.options import (
    EXECUTE,
    FILE,
    FORMAT,
    NOT_EXECUTED,
    UNREACHABLE,
    end,
    maker_of,
    refuse_usage,
    run,
    tell,
)
from mm2.cli.rows import Row, rendered
from mm2.client.checkpoint_sink import CheckpointSink, Round, open_sink
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.checks import Check
from mm2.core.java_regex import JavaPattern
from mm2.core.model import SourceAndTarget
from mm2.errors import ConfigError
from mm2.supervision import run_periodically
from mm2.telemetry.logs import configure_logs

_COLUMNS = ("cluster", "group", "topic", "partition", "before", "after", "state")


@click.command("sync-groups")
@FILE
@flow_option(
    "Only checkpoints of A on B; may be repeated. All pairs of clusters by default.",
    "names",
    multiple=True,
    metavar="A->B",
)
@click.option(
    "--back",
    "back_names",
    multiple=True,
    metavar="A->B",
    help="Also leads groups of B that read on in copies made by A->B back to A; may be repeated.",
)
@click.option(
    "--group", "pattern", default=".*", metavar="REGEX", help="Only groups whose id it matches."
)
@EXECUTE
@click.option(
    "--once", is_flag=True, help="Ends after one round, as it always does without --execute."
)
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Between rounds.",
)
@FORMAT
def sync_groups(
    file: Path,
    names: tuple[str, ...],
    pattern: str,
    interval: float,
    format_: str,
    *,
    back_names: tuple[str, ...],
    execute: bool,
    once: bool,
) -> None:
    """
    Gives idle groups the offsets that checkpoints name, for all clusters of a file.

    The checkpoints may be those of Kafka's MirrorMaker, and nothing has to run near the clusters.
    A group that has members is left alone, and none is ever moved back.

    Exit status: 0 done, 1 a group could not be written, 2 wrong usage, 3 a cluster cannot be
    reached or refuses. With --execute and without --once it goes on, whatever fails, until SIGTERM
    or SIGINT.
    """
    maker = maker_of(file)
    pairs = _pairs(maker, [*names, *back_names])
    flows = [pairs[name] for name in names or pairs]
    back = [pairs[name] for name in back_names]
    is_meant = _pattern(pattern).matches

    async def synced() -> Round | None:
        is_one_round = once or not execute
        if not is_one_round:
            configure_logs()
        async with open_sink(maker, flows, back, is_meant=is_meant, execute=execute) as sink:
            if is_one_round:
                return await sink.round()
            await _until_stopped(sink, interval)
            return None

    if (done := run(synced)) is not None:
        _show(done, format_, execute=execute)


async def _until_stopped(sink: CheckpointSink, interval: float) -> None:
    rounds = asyncio.create_task(
        run_periodically(interval, sink.round, name="sync-groups", at_once=True), name="rounds"
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, rounds.cancel)
    with suppress(asyncio.CancelledError):
        await rounds


def _show(done: Round, format_: str, *, execute: bool) -> None:
    click.echo(rendered(_COLUMNS, list(_rows(done, execute=execute)), format_))
    if done.failures:
        end(UNREACHABLE, *(f"{about}: {error}" for about, error in done.failures.items()))
    if not execute:
        tell([NOT_EXECUTED])
    conclude(
        Check.no_go("group", f"group {group} on {cluster}", reason)
        for cluster, outcome in done.outcomes.items()
        for group, reason in sorted(outcome.refused.items())
    )


def _rows(done: Round, *, execute: bool) -> Iterator[Row]:
    for cluster, outcome in done.outcomes.items():
        for group, offsets in sorted(outcome.written.items()):
            for where, offset in sorted(offsets.items()):
                before = outcome.before[group].get(where)
                yield {
                    "cluster": cluster,
                    "group": group,
                    "topic": where.topic,
                    "partition": where.partition,
                    "before": None if before is None else before.offset,
                    "after": offset.offset,
                    "state": "written" if execute else "would be written",
                }
        left_alone = dict.fromkeys(outcome.active, "active") | outcome.refused
        for group, state in sorted(left_alone.items()):
            empty = dict.fromkeys(_COLUMNS)
            yield {**empty, "cluster": cluster, "group": group, "state": state}


def _pairs(maker: MirrorMakerConfig, names: Sequence[str]) -> dict[str, SourceAndTarget]:
    clusters = maker.clusters
    pairs = [SourceAndTarget(a, b) for a in clusters for b in clusters if a != b]
    known = {str(pair): pair for pair in pairs}
    refuse_usage(
        f"{name} is no flow: write A->B, of {', '.join(clusters)}."
        for name in names
        if name not in known
    )
    return known


def _pattern(text: str) -> JavaPattern:
    try:
        return JavaPattern(text)
    except ConfigError as error:
        raise click.UsageError(f"--group: {error}") from error
