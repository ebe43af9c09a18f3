"""``mm2 verify rebalance``: whether each partition of a group's topics has exactly one owner."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mm2.cli.options import (
    CHECK_FAILED,
    FORMAT,
    ZOOKEEPER_TLS,
    client_properties,
    refuse_usage,
    run,
    tell,
    zookeeper_tls_of,
)
from mm2.cli.rows import Row, rendered
from mm2.core.model import TopicPartition
from mm2.core.verification.partition_owners import Ownership, PartitionOwners, partition_owners

if TYPE_CHECKING:  # --help answers at once without it.
    from mm2.kafka.admin import Admin

_COLUMNS: Final = ("group", "topic", "partition", "owners", "owner")
_STABLE: Final = "STABLE"


@dataclass(frozen=True, slots=True)
class _GroupOwners:
    group: str
    state: str
    members: int
    partitions: Sequence[PartitionOwners]

    @property
    def problem(self) -> str | None:
        """What is wrong; None if nothing is."""
        if not self.members:
            return f"group {self.group} has no members ({self.state})"
        if self.state != _STABLE:
            return f"group {self.group} is rebalancing ({self.state}): ask again"
        if not self.partitions:
            return f"group {self.group}: its members name no topic and have no partitions to check"
        wrong = sum(each.ownership is not Ownership.ONE for each in self.partitions)
        if wrong:
            return f"group {self.group}: {wrong} of {len(self.partitions)} partitions are wrong"
        return None


@click.command("rebalance")
@click.option("--bootstrap-server", metavar="HOST:PORT,...", help="The cluster's brokers.")
@click.option(
    "--zookeeper",
    metavar="HOST:PORT,...[/PATH]",
    help="In their place: where consumers before Kafka 0.9 have their groups.",
)
@ZOOKEEPER_TLS
@click.option(
    "--command-config",
    "file",
    type=click.Path(path_type=Path),
    help="Properties of the cluster's clients.",
)
@click.option("--group", "groups", multiple=True, required=True, help="May be repeated.")
@FORMAT
def rebalance(  # noqa: PLR0917 - options
    bootstrap_server: str | None,
    zookeeper: str | None,
    zookeeper_file: Path | None,
    file: Path | None,
    groups: tuple[str, ...],
    format_: str,
) -> None:
    """
    Shows whether each partition of a group's topics has exactly one owner.

    A group's topics are those to which its members have subscribed by name, and those of which
    they have partitions. Groups of the classic and of the new protocol (KIP-848) are known. A group
    without members or partitions, or that is rebalancing, does not pass.

    With --zookeeper it looks at consumers, owners and topics there, as Kafka's
    VerifyConsumerRebalance did. An owner that is no member any more does not pass.

    Exit status: 0 all partitions have one owner, 1 some have not, 2 wrong usage, 3 the cluster or
    ZooKeeper cannot be reached, or refuses.
    """
    refuse_usage(_problems(bootstrap_server, zookeeper, zookeeper_file, file))
    if zookeeper is not None:
        tls = zookeeper_tls_of(zookeeper_file)
        found = run(lambda: _in_zookeeper(zookeeper, groups, tls))
    else:
        properties = client_properties(bootstrap_server or "", file)
        found = run(lambda: _owners(properties, groups))
    rows = [_row(each.group, one) for each in found for one in each.partitions]
    click.echo(rendered(_COLUMNS, rows, format_))
    problems = [each.problem for each in found if each.problem]
    tell(problems or ["Each partition has one owner."])
    if problems:
        sys.exit(CHECK_FAILED)


def _problems(
    servers: str | None, zookeeper: str | None, zookeeper_file: Path | None, file: Path | None
) -> Iterator[str]:
    if (servers is None) == (zookeeper is None):
        yield "Say where the groups are: --bootstrap-server or --zookeeper."
    if zookeeper is not None and file is not None:
        yield "--command-config belongs to --bootstrap-server."
    if zookeeper is None and zookeeper_file is not None:
        yield "--zk-tls-config-file belongs to --zookeeper."


async def _in_zookeeper(
    connect: str, groups: Sequence[str], tls: Mapping[str, str] | None
) -> list[_GroupOwners]:
    from mm2.client.zookeeper_consumers import older_groups  # noqa: PLC0415 - few use it

    found = await asyncio.to_thread(older_groups, connect, groups, tls)
    return [
        _GroupOwners(group, _STABLE if each.members else "ZooKeeper", each.members, each.partitions)
        for group, each in found.items()
    ]


async def _owners(properties: Mapping[str, str], groups: Sequence[str]) -> list[_GroupOwners]:
    from mm2.kafka.admin import Admin  # noqa: PLC0415 - takes a while

    admin = Admin(properties["bootstrap.servers"], properties)
    try:
        return [await _of_group(admin, group) for group in groups]
    finally:
        await admin.close()


async def _of_group(admin: Admin, group: str) -> _GroupOwners:
    found = await admin.consumers_of_group(group)
    topics = {topic for each in found.members for topic in each.subscribed}
    topics |= {where.topic for each in found.members for where in each.assigned}
    described = await admin.describe_topics(topics)
    partitions = [
        TopicPartition(name, number)
        for name, topic in described.items()
        for number in range(topic.partitions)
    ]
    assigned = {each.member_id: each.assigned for each in found.members}
    return _GroupOwners(
        group, found.state, len(found.members), partition_owners(partitions, assigned)
    )


def _row(group: str, owners: PartitionOwners) -> Row:
    return {
        "group": group,
        "topic": owners.where.topic,
        "partition": owners.where.partition,
        "owners": owners.ownership,
        "owner": ", ".join(owners.owners) or None,
    }
