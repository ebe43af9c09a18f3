"""``mm2 demo``: shows a mirror of two real clusters, and proves its copies."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command("demo")
@click.option("--once", is_flag=True, help="Ends when both copies are proved.")
@click.option(
    "--clusters-only", is_flag=True, help="Starts no mirror, and ends with Ctrl-C: for your own."
)
@click.option("--free-ports", is_flag=True, help="Does not use 9092 and 9192.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    default=8.0,
    show_default=True,
    help="Of traffic, with --once.",
)
@click.option(
    "--rate",
    type=click.IntRange(min=1),
    default=250,
    show_default=True,
    help="Records a second into each cluster.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Of the mirror; default: the one that comes with mm2.",
)
@click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False),
    default="mm2-demo.log",
    show_default=True,
    help="Where the mirror logs to.",
)
@click.option(
    "--kafka-home",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    envvar="KAFKA_HOME",
    help="A Kafka to take the brokers from; else $KAFKA_HOME, or Maven fetches one.",
)
def demo(
    *,
    once: bool,
    clusters_only: bool,
    free_ports: bool,
    seconds: float,
    rate: int,
    config: Path | None,
    log: Path,
    kafka_home: Path | None,
) -> None:
    """
    Starts two Kafka clusters and a mirror between them, and compares all copies with the originals.

    Needs Java and the extra "spark", and fetches Kafka once, by Maven, into the user's cache.
    Everything is stopped and removed at the end, but the log.

    Exit status: 0 the copies are equal, or somebody has ended it, 1 they are not, or it cannot
    start, 130 somebody has ended it with --once.
    """
    if once and clusters_only:
        raise click.UsageError("--once and --clusters-only exclude each other")
    from mm2.demo.demo_clusters import sample_config  # noqa: PLC0415 - only needed here, and large
    from mm2.demo.demo_run import DemoOptions, run_demo  # noqa: PLC0415

    options = DemoOptions(
        once=once,
        clusters_only=clusters_only,
        free_ports=free_ports,
        seconds=seconds,
        rate=rate,
        config=config or sample_config(),
        log=log,
        kafka_home=kafka_home,
    )
    sys.exit(run_demo(options))
