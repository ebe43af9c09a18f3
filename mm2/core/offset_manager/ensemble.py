"""The instances of an offset manager, and which of them leads each partition of its log."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from mm2.core.offset_manager.log_placement import place_logs

_FIRST_NODE: Final = 1 << 30
_NODES: Final = 1 << 29
"""Numbers of instances as brokers: above those that people give brokers, below Java's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """
    A process of the offset manager.

    Attributes:
        name: unique among processes.
        host: where clients reach it; empty if it serves none.
        port: where clients reach it.
        node: its number as a broker.
    """

    name: str
    host: str = ""
    port: int = 0
    node: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class JoiningInstance:
    """
    An instance that joins the group.

    Attributes:
        instance: who it is.
        leads: the log partitions that it leads.
    """

    instance: Instance
    leads: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensemble:
    """
    What the group has decided.

    Attributes:
        instances: those that live.
        leaders: the place in ``instances`` of the leader of each log partition.
    """

    instances: Sequence[Instance] = ()
    leaders: Sequence[int] = ()

    def leader(self, log_partition: int) -> Instance | None:
        """Who leads a log partition; None if nobody is known to."""
        if not 0 <= log_partition < len(self.leaders):
            return None
        return self.instances[self.leaders[log_partition]]

    def host_of(self, broker: int) -> Instance | None:
        """
        The instance through which clients reach a broker of the cluster; None if there is none.

        All instances say the same, and few brokers change their instance when one comes or goes.
        """
        serving = [each for each in self.instances if each.host]
        return max(
            serving,
            key=lambda each: (zlib.crc32(f"{broker}:{each.node}".encode()), each.node),
            default=None,
        )

    def led_by(self, name: str) -> frozenset[int]:
        """The log partitions that an instance is to lead."""
        return frozenset(
            number
            for number, leader in enumerate(self.leaders)
            if self.instances[leader].name == name
        )


def decide(
    joining: Collection[JoiningInstance], partitions: int, taken: Collection[int]
) -> Ensemble:
    """
    Gives each log partition a leader, and each instance a number.

    Args:
        joining: the instances; at least one.
        partitions: of the log.
        taken: numbers of the cluster's brokers.
    """
    by_name = {each.instance.name: each for each in sorted(joining, key=lambda j: j.instance.name)}
    used, instances = set(taken), []
    for each in by_name.values():
        node = _free_node(each.instance, used)
        used.add(node)
        me = each.instance
        instances.append(Instance(name=me.name, host=me.host, port=me.port, node=node))
    places = {each.name: place for place, each in enumerate(instances)}
    leaders = place_logs({name: each.leads for name, each in by_name.items()}, partitions)
    return Ensemble(instances=instances, leaders=[places[name] for name in leaders])


def _free_node(instance: Instance, used: Collection[int]) -> int:
    """The same number for the same address, unless that is taken: clients remember them."""
    start = zlib.crc32(f"{instance.host}:{instance.port}".encode()) % _NODES
    return next(
        node
        for step in range(len(used) + 1)
        if (node := _FIRST_NODE + (start + step) % _NODES) not in used
    )
