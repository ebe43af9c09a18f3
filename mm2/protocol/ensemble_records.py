"""
User data of the group of an offset manager's instances: what each leads, and what is decided.

Anybody who may join the group may send anything: what has not this form does not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mm2.core.offset_manager.ensemble import Ensemble, Instance, JoiningInstance
from mm2.protocol.codec import decode_user_data, encode

_MOST_PORT: Final = 65535
_MOST_NODE: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Joining:
    name: str
    host: str
    port: int
    leads: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Instance:
    name: str
    host: str
    port: int
    node: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decision:
    instances: tuple[_Instance, ...]
    leaders: tuple[int, ...] = ()


def encode_joining(joining: JoiningInstance) -> bytes:
    """What a member sends when it joins."""
    me = joining.instance
    leads = tuple(sorted(joining.leads))
    return encode(_Joining(name=me.name, host=me.host, port=me.port, leads=leads))


def decode_joining(data: bytes) -> JoiningInstance | None:
    """Reads what a member has sent; None if it is nothing of ours."""
    found = decode_user_data(_Joining, data)
    if found is None or min(found.leads, default=0) < 0:
        return None
    instance = Instance(name=found.name, host=found.host, port=found.port)
    if not _is_possible(instance):
        return None
    return JoiningInstance(instance=instance, leads=frozenset(found.leads))


def encode_ensemble(ensemble: Ensemble) -> bytes:
    """The decision as all members get it."""
    instances = tuple(
        _Instance(name=each.name, host=each.host, port=each.port, node=each.node)
        for each in ensemble.instances
    )
    return encode(_Decision(instances=instances, leaders=tuple(ensemble.leaders)))


def decode_ensemble(data: bytes) -> Ensemble | None:
    """Reads a decision; None if it is nothing of ours."""
    found = decode_user_data(_Decision, data)
    if found is None:
        return None
    instances = [
        Instance(name=each.name, host=each.host, port=each.port, node=each.node)
        for each in found.instances
    ]
    if not all(map(_is_possible, instances)):
        return None
    if not all(0 <= leader < len(instances) for leader in found.leaders):
        return None
    return Ensemble(instances=instances, leaders=list(found.leaders))


def _is_possible(instance: Instance) -> bool:
    has_address = 0 <= instance.port <= _MOST_PORT
    return bool(instance.name) and has_address and -1 <= instance.node <= _MOST_NODE
