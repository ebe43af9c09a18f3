"""``mm2 verify replicas``: whether the replicas of partitions are the same on all brokers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mm2.cli.options import CHECK_FAILED, FORMAT, client_properties, patterns_of, run, tell
from mm2.cli.rows import Row, rendered
from mm2.core.filters import NamePatterns
from mm2.core.model import TopicPartition
from mm2.errors import Unavailable

if TYPE_CHECKING:  # --help answers at once without it.
    from mm2.kafka.logs.replica_check import ReplicaCheck

_COLUMNS: Final = (
    *("topic", "partition", "broker", "leader", "in_sync", "begin", "end"),
    *("behind", "differences", "result"),
)
_DIFFERENCES: Final = ("topic", "partition", "broker", "kind", "first_offset", "last_offset")


@click.command("replicas")
@click.option(
    "--bootstrap-server", metavar="HOST:PORT,...", required=True, help="The cluster's brokers."
)
@click.option(
    "--command-config",
    "file",
    type=click.Path(path_type=Path),
    help="Properties of the cluster's clients.",
)
@click.option(
    "--topics",
    metavar="PATTERN[,PATTERN...]",
    default=".*",
    show_default=True,
    help="Which topics, as in the key topics of a mirror.",
)
@click.option(
    "--patience",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="Seconds for which a replica may have nothing new before it counts as behind.",
)
@click.option(
    "--differences",
    "most",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="How many differences of each replica are shown.",
)
@FORMAT
def replicas(  # noqa: PLR0917 - options
    bootstrap_server: str, file: Path | None, topics: str, patience: float, most: int, format_: str
) -> None:
    """
    Compares the replicas of partitions across the brokers of one cluster.

    Fetches each partition from the broker of every replica, up to where it ends at the start. The
    batches are compared with the leader's, byte by byte by their checksums. Of compacted topics it
    compares the records that both replicas have. Brokers need Kafka 2.4.

    A replica that is not reached or is behind counts as not equal. In a table, differences follow
    the replicas; other formats show replicas on standard output and differences on standard error.

    Exit status: 0 all replicas are equal, 1 some are not or could not be compared, 2 wrong usage,
    3 the cluster cannot be reached, or refuses.
    """
    wanted = patterns_of(topics)
    properties = client_properties(bootstrap_server, file)
    found = run(lambda: _checks(properties, wanted, patience, most))
    if not found:
        raise click.UsageError(f"--topics {topics}: the cluster has no such topic.")
    click.echo(rendered(_COLUMNS, list(map(_row, found)), format_))
    if differences := [row for each in found for row in _differences(each)]:
        text = rendered(_DIFFERENCES, differences, format_)
        click.echo(f"\n{text}" if format_ == "table" else text, err=format_ != "table")
    tell(f"{each.where}, broker {each.node}: {each.failure}" for each in found if each.failure)
    unequal = sum(not each.is_equal for each in found)
    tell([f"{len(found) - unequal} of {len(found)} replicas are equal to their leader's."])
    if unequal:
        sys.exit(CHECK_FAILED)


async def _checks(
    properties: Mapping[str, str], wanted: NamePatterns, patience_s: float, most: int
) -> list[ReplicaCheck]:
    from mm2.kafka.admin import Admin  # noqa: PLC0415 - takes a while
    from mm2.kafka.client_settings import aiokafka_settings  # noqa: PLC0415 - see above
    from mm2.kafka.logs.replica_check import check_replicas  # noqa: PLC0415 - see above
    from mm2.kafka.wire.wire_client import WireClient  # noqa: PLC0415 - see above

    servers = properties["bootstrap.servers"]
    admin = Admin(servers, properties)
    client = WireClient(servers, aiokafka_settings(properties))
    try:
        topics = [each for each in await admin.list_topics(internal=True) if each in wanted]
        await client.start()
        await client.track(topics)
        if missing := [each for each in topics if not client.partitions_of(each)]:
            raise Unavailable(servers, f"nobody says who leads {', '.join(sorted(missing))}")
        partitions = [
            TopicPartition(topic, number)
            for topic in topics
            for number in range(client.partitions_of(topic))
        ]
        return await check_replicas(client, partitions, patience_s=patience_s, most=most)
    finally:
        await client.close()
        await admin.close()


def _row(check: ReplicaCheck) -> Row:
    return {
        "topic": check.where.topic,
        "partition": check.where.partition,
        "broker": check.node,
        "leader": check.is_leader,
        "in_sync": check.in_sync,
        "begin": check.begin,
        "end": check.end,
        "behind": check.behind,
        "differences": check.found,
        "result": _result(check),
    }


def _result(check: ReplicaCheck) -> str:
    if check.found:
        return "differs"
    if check.failure:
        return "failed"
    return "behind" if check.behind else "equal"


def _differences(check: ReplicaCheck) -> Iterable[Row]:
    return [
        {
            "topic": check.where.topic,
            "partition": check.where.partition,
            "broker": check.node,
            "kind": each.fault,
            "first_offset": each.first,
            "last_offset": each.last,
        }
        for each in check.differences
    ]
