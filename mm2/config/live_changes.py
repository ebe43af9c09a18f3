"""What follows when keys of a running flow change: as their rows say, and for prefixes as here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from mm2.config.keys.definition import Definition, Key, Support
from mm2.config.keys.effects import (
    BUNDLES,
    CHECKPOINTS,
    FLOW,
    HEARTBEATS,
    NONE,
    PROCESS,
    VALUES,
    Effect,
    Effects,
)
from mm2.config.keys.key_table import CONNECTOR_DEFINITION, TABLE

_CONNECTORS: Final = frozenset({*CONNECTOR_DEFINITION.values(), Definition.CONNECT})
_WORKERS: Final = frozenset({Definition.WORKER, Definition.POLICY})
_CONNECTOR_PREFIXES: Final[tuple[tuple[str, Effects], ...]] = (
    ("producer.override.", BUNDLES),
    ("consumer.override.", NONE),
    ("admin.override.", NONE),
    ("config.providers.", VALUES),
    ("header.converter.", NONE),
    ("key.converter.", NONE),
    ("predicates.", NONE),
    ("topic.creation.", NONE),
    ("transforms.", NONE),
    ("value.converter.", NONE),
    *(
        (f"{side}{kind}.", BUNDLES | CHECKPOINTS | HEARTBEATS)
        for side in ("", "source.", "target.")
        for kind in ("consumer", "producer")
    ),
)
"""The first that fits counts; a key that fits none, a plug-in's say, has the flow start anew."""

_WORKER_PREFIXES: Final[tuple[tuple[str, Effects], ...]] = (
    ("producer.", BUNDLES),
    ("consumer.", NONE),
    ("admin.", NONE),
    ("config.providers", NONE),
    ("replication.policy", NONE),
)
"""What is behind ``admin.`` and ``replication.policy.`` reaches the flow through its connectors."""

_PROCESS_PREFIXES: Final = ("admin.listeners", "listeners.", "rest.", "spark.")
_CLUSTERS: Final = ("source.cluster.", "target.cluster.")


def effects_in_connector(key: str) -> Effects:
    """
    What follows when a key of the connectors' configuration changes.

    Args:
        key: as connectors see it, without ``A->B.``; a cluster's begins with ``source.cluster.`` or
            ``target.cluster.``.
    """
    if is_of_process(key):
        return PROCESS
    row = TABLE.get(key)
    if row is not None and row.definitions & _CONNECTORS:
        return _effects_of_row(row) or FLOW
    if key.startswith(_CLUSTERS):
        # Workers see the keys of clusters too, and speak for those that are theirs.
        return NONE if _is_of_worker(key.split(".", 2)[2]) else FLOW
    return _by_prefix(key, _CONNECTOR_PREFIXES)


def effects_in_worker(key: str) -> Effects:
    """What follows when a key of the worker's configuration changes, written ``B.`` and the key."""
    if is_of_process(key):
        return PROCESS
    row = TABLE.get(key)
    found = None if row is None or not _is_read_by_worker(row) else _effects_of_row(row)
    return found or _by_prefix(key, _WORKER_PREFIXES)


def is_of_process(key: str) -> bool:
    """Whether a key at top level is read once, when the process starts."""
    row = TABLE.get(key)
    return key.startswith(_PROCESS_PREFIXES) or (row is not None and row.effects == PROCESS)


def effects_of(connector: Iterable[str], worker: Iterable[str]) -> Effects:
    """
    What follows when keys change together; that the flow starts anew comprises all that is less.

    Args:
        connector: changed keys of the connectors' configuration.
        worker: changed keys of the worker's.
    """
    found = {effect for key in connector for effect in effects_in_connector(key)}
    found |= {effect for key in worker for effect in effects_in_worker(key)}
    if Effect.FIXED in found:
        found.add(Effect.FLOW)
    return frozenset(found - {Effect.NONE, Effect.VALUES})


def changed_keys(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Keys that came, went, or have another value, sorted."""
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


def rows() -> list[tuple[str, Effects]]:
    """The table for people: keys, or how they begin and ``*``; as the connectors' first."""
    told = [(key, found) for key in TABLE.values() if (found := _effects_of_row(key))]
    table = [(key.name, found) for key, found in told if key.definitions & _CONNECTORS]
    table += [(f"{name}*", found) for name, found in _CONNECTOR_PREFIXES]
    own = [(key.name, found) for key, found in told if key.definitions <= _WORKERS]
    own += [(f"{name}*", found) for name, found in _WORKER_PREFIXES]
    return table + [(f"B.{name}", found) for name, found in own if found not in (NONE, PROCESS)]


def _effects_of_row(row: Key) -> Effects | None:
    """Of keys of connections a flow is told whether it obeys them or not."""
    if row.effects is None and row.support is not Support.OBEYED:
        return None if Definition.CLIENT in row.definitions else NONE
    return row.effects


def _is_read_by_worker(row: Key) -> bool:
    """Of its converters nobody reads anything, and they count as the connectors'."""
    return bool(row.definitions & _WORKERS) or row.support is not Support.OBEYED


def _is_of_worker(key: str) -> bool:
    row = TABLE.get(key)
    known = row is not None and _is_read_by_worker(row) and _effects_of_row(row) is not None
    return known or is_of_process(key) or key.startswith("config.providers")


def _by_prefix(key: str, prefixes: Iterable[tuple[str, Effects]]) -> Effects:
    return next((found for prefix, found in prefixes if key.startswith(prefix)), FLOW)
