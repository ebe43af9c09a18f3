"""``mm2 hops``: which clusters are upstream of which, and over how many flows."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from mm2.cli.options import FILE, FORMAT, UNREACHABLE, USAGE, end, maker_of
from mm2.cli.rows import Row
from mm2.cli.watching import WATCH, Shown, show_and_exit
from mm2.client.mirror_client import MirrorClient
from mm2.client.query_clusters import query_each
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.model import ClusterAlias, TopicName
from mm2.core.topics.cycle_detection import (
    count_hops,
    heartbeat_topics,
    replication_hops,
    upstream_clusters,
    way_of,
)
from mm2.errors import ConfigErrors

_COLUMNS: Final = ["cluster", "upstream", "hops", "topic"]


@click.command("hops")
@FILE
@click.option("--cluster", "clusters", multiple=True, help="Only this one; may be repeated.")
@WATCH
@FORMAT
def hops(file: Path, clusters: tuple[str, ...], watch: float | None, format_: str) -> None:
    """
    Shows the clusters whose records arrive on each cluster, and after how many copies.

    Read from the names of the heartbeats topics that are there; the nearest is shown. Clusters that
    cannot be reached, or whose settings are wrong, are named, and the others still shown.

    Exit status: 0 done, 2 wrong usage, 3 no cluster can be reached.
    """
    maker = maker_of(file)
    unknown = [each for each in clusters if each not in maker.clusters]
    if unknown:
        known = ", ".join(maker.clusters)
        raise click.UsageError(f"--cluster {', '.join(unknown)}: there are {known}.")
    named = [each for each in maker.clusters if not clusters or each in clusters]
    wrong = {each: problems for each in named if (problems := _problems(maker, each))}
    asked = [each for each in named if each not in wrong]
    left_out = [
        f"{file}: {'; '.join(problems)}; cluster {each} is left out"
        for each, problems in wrong.items()
    ]
    if not asked:
        end(USAGE, *left_out)

    async def ask() -> Shown:
        answers = await query_each(maker, asked, _ask)
        if not answers.given:
            told = [*left_out, *map(str, answers.failures.values())]
            return Shown(None, told, UNREACHABLE)
        rows = [row for of_cluster in answers.given.values() for row in of_cluster]
        told = [*left_out, *(f"{each}; it is left out" for each in answers.failures.values())]
        return Shown(rows, told)

    show_and_exit(_COLUMNS, ask, format_, watch)


def _problems(maker: MirrorMakerConfig, alias: ClusterAlias) -> list[str]:
    """Why no client of a cluster can be made, if the file is wrong about it."""
    try:
        maker.client_config(alias)
    except ConfigErrors as errors:
        return list(map(str, errors.problems))
    return []


async def _ask(here: ClusterAlias, client: MirrorClient) -> list[Row]:
    policy, topics = client.replication_policy, await client.topics()
    beats = sorted(
        heartbeat_topics(policy, topics), key=lambda each: (len(way_of(policy, each, here)), each)
    )

    def nearest(upstream: ClusterAlias, count: int) -> TopicName:
        return next(topic for topic in beats if count_hops(policy, topic, upstream) == count)

    upstream = upstream_clusters(policy, topics)
    counts = {each: replication_hops(policy, topics, each) for each in upstream}
    return [
        {"cluster": here, "upstream": each, "hops": count, "topic": nearest(each, count)}
        for each, count in sorted(counts.items(), key=lambda pair: (pair[1], pair[0]))
    ]
