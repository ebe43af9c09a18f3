"""
What is different between two configurations of a flow, and what it takes to change a running one.

Rows of the table say it of their keys, and this module of prefixes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from mm2.config.connector_settings import SourceSettings
from mm2.config.flow_settings import FlowConfig
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
from mm2.config.keys.key_aliases import canonical_key
from mm2.config.keys.key_table import CONNECTOR_DEFINITION, TABLE
from mm2.config.text.redact import redacted

_CONNECTORS: Final = frozenset({*CONNECTOR_DEFINITION.values(), Definition.CONNECT})
_WORKERS: Final = frozenset({Definition.WORKER, Definition.POLICY})
_CONNECTOR_PREFIXES: Final[tuple[tuple[str, Effects], ...]] = (
    ("producer.override.", BUNDLES),
    ("consumer.override.", NONE),
    ("admin.override.", NONE),
    ("config.providers.", VALUES),
    ("header.converter.", NONE),
    ("key.converter.", NONE),
    ("predicates.", BUNDLES | CHECKPOINTS | HEARTBEATS),
    ("topic.creation.", NONE),
    ("transforms.", BUNDLES | CHECKPOINTS | HEARTBEATS),
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
_DIGEST_LENGTH: Final = 16
_CLUSTERS: Final = ("source.cluster.", "target.cluster.")


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowChange:
    """
    The difference between two configurations of a flow.

    Attributes:
        keys: whose values differ, as connectors and worker see them; sorted.
        of_process: those of them that only a new start of the process reads.
        effects: what follows for a flow that runs; empty if nothing does.
    """

    keys: tuple[str, ...]
    of_process: tuple[str, ...]
    effects: Effects


def change_between(before: FlowConfig, after: FlowConfig) -> FlowChange:
    """What a flow has to do when its configuration changes."""
    connector = changed_keys(before.source.properties, after.source.properties)
    worker = changed_keys(before.worker, after.worker)
    process = _of_process(before, after)
    # A spelling changes the key that it is read as, if it counts; by itself it changes nothing.
    read = [key for key in connector if canonical_key(key) == key]
    effects = set(effects_of(read, worker))
    if process:
        effects.add(Effect.PROCESS)
    if _way_back(before) != _way_back(after):
        effects.add(Effect.CHECKPOINTS)
    if before.source.runs != after.source.runs:
        effects.add(Effect.FLOW)
    keys = tuple(sorted({*connector, *worker, *process}))
    return FlowChange(keys=keys, of_process=tuple(process), effects=frozenset(effects))


def config_digest(config: FlowConfig) -> str:
    """
    Names what counts for a flow, as its file has it: the same words make the same name.

    Secrets leave no trace in it, and neither does what belongs to a machine (``spark.*``).
    """
    parts = (
        config.worker,
        config.source.properties,
        config.checkpoint.properties,
        config.heartbeat.properties,
    )
    text = json.dumps([sorted(redacted(part).items()) for part in parts])
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]


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


def _way_back(config: FlowConfig) -> SourceSettings | None:
    return None if config.reverse is None else config.reverse.source


def _of_process(before: FlowConfig, after: FlowConfig) -> list[str]:
    """Changed keys that only a new start of the process reads."""
    changed = changed_keys(before.spark, after.spark)
    if before.maker is not None and after.maker is not None:
        raw = changed_keys(before.maker.raw, after.maker.raw)
        changed += [key for key in raw if is_of_process(key) and key not in changed]
    return sorted(changed)
