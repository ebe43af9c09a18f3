"""``mm2 offset-manager check``: where groups are, in Kafka and in an offset manager."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mm2.cli.options import FORMAT, ZOOKEEPER_TLS, client_properties, run, zookeeper_tls_of
from mm2.cli.rows import Row, rendered
from mm2.core.model import TopicPartition

if TYPE_CHECKING:  # --help answers at once without it.
    from mm2.client.zookeeper_groups import OwnedOffset
    from mm2.kafka.admin import Admin

_COLUMNS: Final = ("group", "kept_in", "topic", "pid", "offset", "logsize", "lag", "owner")
_KAFKA: Final = "kafka"
_NOBODY: Final = "none"


@click.command("check")
@click.option(
    "--bootstrap-server", metavar="HOST:PORT,...", required=True, help="The cluster's brokers."
)
@click.option(
    "--offset-manager", "instances", metavar="HOST:PORT,...", help="Instances, to be asked as well."
)
@click.option(
    "--zookeeper", metavar="HOST:PORT,...[/PATH]", help="Where consumers before Kafka 0.9 commit."
)
@ZOOKEEPER_TLS
@click.option("--group", "groups", multiple=True, required=True, help="May be repeated.")
@click.option(
    "--command-config",
    "file",
    type=click.Path(path_type=Path),
    help="Properties of the cluster's clients.",
)
@click.option(
    "--offset-manager-config",
    "instances_file",
    type=click.Path(path_type=Path),
    help="Properties of the offset manager's clients.",
)
@FORMAT
def check(  # noqa: PLR0917 - options
    bootstrap_server: str,
    instances: str | None,
    zookeeper: str | None,
    zookeeper_file: Path | None,
    groups: tuple[str, ...],
    file: Path | None,
    instances_file: Path | None,
    format_: str,
) -> None:
    """
    Shows what groups have committed, where partitions end, and how far groups are behind.

    Columns are those of Kafka's ConsumerOffsetChecker. kept_in says who has the offset: kafka,
    manager or zookeeper. The owner is the member of Kafka's group that has the partition, and its
    host, or the owner in ZooKeeper. Consumers of the manager use assign(), and own nothing. A
    partition that is not there any more has no logsize, and one with an owner alone no offset.

    Exit status: 0 done, 1 the properties cannot be used, 2 wrong usage, 3 the cluster, the
    instances or ZooKeeper cannot be reached, or refuse.
    """
    if zookeeper_file is not None and zookeeper is None:
        raise click.UsageError("--zk-tls-config-file belongs to --zookeeper.")
    tls = zookeeper_tls_of(zookeeper_file)
    cluster = client_properties(bootstrap_server, file)
    manager = client_properties(instances, instances_file) if instances else {}
    rows = run(lambda: _rows(groups, cluster, manager, zookeeper, tls))
    click.echo(rendered(_COLUMNS, rows, format_))


async def _rows(
    groups: Sequence[str],
    cluster: Mapping[str, str],
    manager: Mapping[str, str],
    zookeeper: str | None,
    tls: Mapping[str, str] | None,
) -> list[Row]:
    from mm2.kafka.admin import Admin  # noqa: PLC0415 - takes a while

    admin = Admin(cluster["bootstrap.servers"], cluster)
    stores = {_KAFKA: admin}
    if manager:
        stores["manager"] = Admin(manager["bootstrap.servers"], manager)
    try:
        older = await _in_zookeeper(zookeeper, groups, tls)
        return [row for group in groups for row in await _rows_of(group, stores, older[group])]
    finally:
        for each in stores.values():
            await each.close()


async def _in_zookeeper(
    connect: str | None, groups: Sequence[str], tls: Mapping[str, str] | None
) -> Mapping[str, Mapping[TopicPartition, OwnedOffset]]:
    if connect is None:
        return {group: {} for group in groups}
    from mm2.client.zookeeper_groups import zookeeper_groups  # noqa: PLC0415 - few use it

    return await asyncio.to_thread(zookeeper_groups, connect, groups, tls)


async def _rows_of(
    group: str, stores: Mapping[str, Admin], older: Mapping[TopicPartition, OwnedOffset]
) -> list[Row]:
    from mm2.kafka.groups.offset_calls import OffsetAt  # noqa: PLC0415 - see above

    offsets: dict[str, dict[TopicPartition, int | None]] = {}
    for name, store in stores.items():
        committed = await store.list_group_offsets(group)
        offsets[name] = {where: each.offset for where, each in committed.items()}
    offsets["zookeeper"] = {where: each.offset for where, each in older.items()}
    owners = {
        _KAFKA: await _owners(group, stores[_KAFKA]),
        "zookeeper": {where: each.owner for where, each in older.items() if each.owner},
    }
    partitions = {where for found in offsets.values() for where in found}
    ends = await stores[_KAFKA].list_offsets(partitions, OffsetAt.LATEST)
    return [
        {
            "group": group,
            "kept_in": name,
            "topic": where.topic,
            "pid": where.partition,
            "offset": offset,
            "logsize": ends.get(where),
            "lag": _lag(offset, ends.get(where)),
            "owner": owners.get(name, {}).get(where, _NOBODY),
        }
        for name, found in offsets.items()
        for where, offset in sorted(found.items())
    ]


def _lag(offset: int | None, end: int | None) -> int | None:
    return None if offset is None or end is None else max(end - offset, 0)


async def _owners(group: str, admin: Admin) -> dict[TopicPartition, str]:
    members = (await admin.consumers_of_group(group)).members
    return {where: f"{each.member_id}{each.host}" for each in members for where in each.assigned}
