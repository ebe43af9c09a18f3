"""
What the instances of an offset manager tell each other when their group rebalances.

Anybody who may join the group may say anything: what cannot be read says nothing.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mm2.core.json_text import read_json
from mm2.core.offset_manager.log_placement import place_logs

_FIRST_NODE: Final = 1 << 30
_NODES: Final = 1 << 29
"""Numbers of instances as brokers: above those that people give brokers, below Java's own."""

_MOST_BYTES: Final = 1 << 20
_MOST_PORT: Final = 65535


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
class InstanceSays:
    """
    What an instance says of itself when it joins.

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


def decide(said: Collection[InstanceSays], partitions: int, taken: Collection[int]) -> Ensemble:
    """
    Gives each log partition a leader, and each instance a number.

    Args:
        said: what the instances say of themselves; at least one.
        partitions: of the log.
        taken: numbers of the cluster's brokers.
    """
    by_name = {each.instance.name: each for each in sorted(said, key=lambda s: s.instance.name)}
    used, instances = set(taken), []
    for each in by_name.values():
        node = _free_node(each.instance, used)
        used.add(node)
        me = each.instance
        instances.append(Instance(name=me.name, host=me.host, port=me.port, node=node))
    places = {each.name: place for place, each in enumerate(instances)}
    leaders = place_logs({name: each.leads for name, each in by_name.items()}, partitions)
    return Ensemble(instances=instances, leaders=[places[name] for name in leaders])


def encode_says(says: InstanceSays) -> bytes:
    """What a member sends when it joins."""
    return _json({"version": 1, **_instance(says.instance), "leads": sorted(says.leads)})


def decode_says(data: bytes) -> InstanceSays | None:
    """Reads what a member has sent; None if it is nothing of ours."""
    found = _read(data)
    if found is None or (instance := _read_instance(found)) is None:
        return None
    return InstanceSays(instance=instance, leads=frozenset(_numbers(found.get("leads"))))


def encode_ensemble(ensemble: Ensemble) -> bytes:
    """The decision as all members get it."""
    instances = [{**_instance(each), "node": each.node} for each in ensemble.instances]
    return _json({"version": 1, "instances": instances, "leaders": list(ensemble.leaders)})


def decode_ensemble(data: bytes) -> Ensemble | None:
    """Reads a decision; None if it is nothing of ours."""
    found = _read(data)
    listed = None if found is None else found.get("instances")
    if found is None or not isinstance(listed, list):
        return None
    instances = [_read_instance(each) for each in listed if isinstance(each, dict)]
    leaders = _numbers(found.get("leaders"))
    known = [each for each in instances if each is not None]
    if len(known) != len(listed) or any(each >= len(known) for each in leaders):
        return None
    return Ensemble(instances=known, leaders=leaders)


def _free_node(instance: Instance, used: Collection[int]) -> int:
    """The same number for the same address, unless that is taken: clients remember them."""
    start = zlib.crc32(f"{instance.host}:{instance.port}".encode()) % _NODES
    return next(
        node
        for step in range(len(used) + 1)
        if (node := _FIRST_NODE + (start + step) % _NODES) not in used
    )


def _json(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _read(data: bytes) -> dict[str, object] | None:
    try:
        found = read_json(data, most_bytes=_MOST_BYTES)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _instance(instance: Instance) -> dict[str, object]:
    return {"name": instance.name, "host": instance.host, "port": instance.port}


def _read_instance(found: Mapping[str, object]) -> Instance | None:
    name, host, port = found.get("name"), found.get("host"), found.get("port")
    node = found.get("node", -1)
    if not (isinstance(name, str) and name and isinstance(host, str)):
        return None
    if type(port) is not int or not 0 <= port <= _MOST_PORT or type(node) is not int:
        return None
    if not -1 <= node < 1 << 31:
        return None
    return Instance(name=name, host=host, port=port, node=node)


def _numbers(found: object) -> list[int]:
    return (
        [each for each in found if type(each) is int and each >= 0]
        if isinstance(found, list)
        else []
    )
