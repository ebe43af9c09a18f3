"""Says of each key of a file who reads it, or what was most likely meant by it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from mm2.config.keys.definition import Definition, Key, Support
from mm2.config.keys.key_table import (
    CONNECTOR_NAMES,
    MAKER_KEYS,
    TABLE,
    WORKER_AND_POLICY,
    keys_of,
    nearest,
    nearest_of_sql,
)
from mm2.config.keys.keys_clients import CLIENT_KINDS, CLIENT_SETTINGS
from mm2.config.keys.keys_mm2 import OWN_KEYS, SPARK_PREFIX, SPELLINGS, KeyAlias, Treatment
from mm2.config.keys.keys_security import CLIENT_NAMES
from mm2.config.keys.keys_top import REST_KEYS, TLS_PREFIX
from mm2.config.text.redact import is_for_code, is_secret
from mm2.errors import ConfigError

_WORKER_NAMES: Final = frozenset(WORKER_AND_POLICY)
_OWN_NAMES: Final = frozenset(key.name for key in OWN_KEYS)
_CONNECTOR_KEYS: Final = CONNECTOR_NAMES | _OWN_NAMES
# Java looks only at how these begin, and what stands behind is whatever a plug-in wants.
_OPEN_AT_TOP: Final = ("config.providers.", "replication.policy.", SPARK_PREFIX, TLS_PREFIX)
_OPEN_FOR_CONVERTERS: Final = ("key.converter.", "value.converter.", "header.converter.")
_OF_TRANSFORMS: Final = ("transforms.", "predicates.")
_OPEN_IN_FLOW: Final = (
    "config.providers.",
    "replication.policy.",
    *_OF_TRANSFORMS,
    "topic.creation.",
    *_OPEN_FOR_CONVERTERS,
)
_STORAGE: Final = ("offset.storage.", "config.storage.", "status.storage.")
_OPEN_IN_WORKER: Final = (
    "config.providers.",
    SPARK_PREFIX,
    *_OPEN_FOR_CONVERTERS,
    *_STORAGE,
    "admin.listeners.",
    TLS_PREFIX,
    "metrics.context.",
)
_CLIENT_KEYS: Final = frozenset(
    f"{kind}.{name}" for kind in CLIENT_KINDS for name in CLIENT_SETTINGS[kind] | CLIENT_NAMES
)
_CLUSTER_NAMES: Final = CLIENT_NAMES | _WORKER_NAMES | _CLIENT_KEYS
_FLOW_NAMES: Final = frozenset(
    {
        *_CONNECTOR_KEYS,
        *keys_of(Definition.CONNECT),
        *_CLIENT_KEYS,
        *(f"{side}.{key}" for side in ("source", "target") for key in _CLIENT_KEYS),
        *(f"{side}.cluster.{name}" for side in ("source", "target") for name in CLIENT_NAMES),
        *(f"{kind}.override.{name}" for kind in CLIENT_KINDS for name in CLIENT_SETTINGS[kind]),
    }
)
_REST_NAMES: Final = frozenset(key.name for key in REST_KEYS)
_OF_WORKERS: Final = (
    _CLUSTER_NAMES
    | _REST_NAMES
    | {
        *MAKER_KEYS.keys() - {"clusters", "dedicated.mode.enable.internal.rest"},
        *_REST_NAMES,
        "offset.storage.file.filename",
        *("key.converter", "value.converter", "header.converter"),
        *("internal.key.converter", "internal.value.converter"),
    }
)
_TOP_NAMES: Final = frozenset(MAKER_KEYS) | _REST_NAMES | _CONNECTOR_KEYS | CLIENT_NAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyHint:
    """
    What to say about one key.

    Attributes:
        message: what is doubtful about it; None if nothing is.
        read: it is read all the same, as another key.
        wrong: it is a mistake, not just without effect.
        key: the definition that its text must satisfy, where that is known.
    """

    message: str | None = None
    suggestion: str | None = None
    read: bool = False
    wrong: bool = False
    key: Key | None = None


def classify_key(written: str, clusters: tuple[str, ...], targets: tuple[str, ...] = ()) -> KeyHint:
    """What to say about a key as written; ``targets`` are those of flows that are switched on."""
    for source in clusters:
        for target in clusters:
            prefix = f"{source}->{target}."
            if source != target and written.startswith(prefix):
                return _in_flow(prefix, written.removeprefix(prefix), target)
    # The longest alias first: one may begin with another and a dot.
    for alias in sorted(clusters, key=len, reverse=True):
        if written.startswith(f"{alias}."):
            return _in_cluster(f"{alias}.", written.removeprefix(f"{alias}."))
    if "->" in written:
        return _unknown_flow(written, clusters)
    return _at_top(written, clusters, targets)


def is_of_worker(name: str) -> bool:
    """Whether a key belongs to the worker on the target cluster, and would do nothing in a flow."""
    return (
        name in _WORKER_NAMES
        and name not in _FLOW_NAMES
        and _spelling(name) is None
        and not name.startswith(_OPEN_IN_FLOW)
    )


def connector_keys() -> frozenset[str]:
    """The keys that connectors read, beside those behind the prefixes of plug-ins."""
    return _FLOW_NAMES


def is_open(written: str, clusters: Iterable[str]) -> bool:
    """
    Whether everybody may know the value of a key of a mirror's file.

    So it is if a definition has the key, and does not call it a password. A URL may have one in it,
    and so may an expression of SQL, or what the user's code is given.
    """
    aliases = sorted(clusters, key=len, reverse=True)
    for prefix in [f"{source}->{target}." for source in aliases for target in aliases]:
        if written.startswith(prefix):
            return _is_open(written.removeprefix(prefix), _FLOW_NAMES)
    for prefix in [f"{alias}." for alias in aliases]:
        if written.startswith(prefix):
            return _is_open(written.removeprefix(prefix), _CLUSTER_NAMES)
    return _is_open(written, _TOP_NAMES)


def is_open_in_worker(written: str) -> bool:
    """The same of a key of a Connect worker's file."""
    return _is_open(written, _OF_WORKERS)


def worker_advice(written: str) -> KeyHint:
    """Classifies a key of a Connect worker's file."""
    if written in _OF_WORKERS or written.startswith(_OPEN_IN_WORKER):
        return KeyHint()
    if written in _CONNECTOR_KEYS:
        return KeyHint(message="no effect in a worker's file, it belongs to connectors.")
    return _unknown("", written, _OF_WORKERS)


def connector_advice(written: str) -> KeyHint:
    """Classifies a key of a connector in a Connect worker."""
    if written in _FLOW_NAMES or written.startswith(_OPEN_IN_FLOW):
        return KeyHint()
    if spelling := _spelling(written):
        return _old(spelling, "")
    if written in _WORKER_NAMES:
        return KeyHint(message="no effect in a connector, it belongs to the worker's file.")
    return _unknown("", written, _FLOW_NAMES)


def unread_keys(keys: Iterable[str], advise: Callable[[str], KeyHint]) -> Iterator[ConfigError]:
    """What is to be said about keys that are not read, or not as they are written."""
    for key in keys:
        hint = advise(key)
        # Older spellings are reported with what they are read as.
        if hint.message is not None and not hint.read:
            yield ConfigError(f"{key}: {hint.message}", key=key, suggestion=hint.suggestion)


def _is_open(name: str, known: Collection[str]) -> bool:
    is_known = name in known or f".{name}".endswith(".bootstrap.servers")
    return is_known and not (is_secret(name) or is_for_code(name) or name.endswith(".url"))


def _in_flow(prefix: str, name: str, target: str) -> KeyHint:
    if name in _FLOW_NAMES:
        return KeyHint(key=TABLE.get(name) if name in _CONNECTOR_KEYS else None)
    if spelling := _spelling(name):
        return _old(spelling, prefix)
    if name.startswith(_OPEN_IN_FLOW):
        return KeyHint()
    if is_of_worker(name):
        message = "no effect in a flow, it belongs to the target cluster."
        return KeyHint(message=message, suggestion=f"{target}.{name}")
    return _unknown(prefix, name, _FLOW_NAMES)


def _in_cluster(prefix: str, name: str) -> KeyHint:
    if name in _CLUSTER_NAMES:
        key = TABLE.get(name)
        return KeyHint(key=key if key and not key.required else None)
    if name.startswith((*_OPEN_AT_TOP, *_OPEN_FOR_CONVERTERS, "replication.policy")):
        return KeyHint()
    if name.startswith(_OF_TRANSFORMS) or name in _CONNECTOR_KEYS:
        if name in TABLE and TABLE[name].support is not Support.OBEYED:
            return KeyHint()  # flows tell of it
        message = "no effect for a cluster, it belongs to flows."
        at_top = f" or {name}" if name in _CONNECTOR_KEYS else ""
        return KeyHint(message=message, suggestion=f"S->T.{name}{at_top}")
    return _unknown(prefix, name, _CLUSTER_NAMES)


def _at_top(written: str, clusters: tuple[str, ...], targets: tuple[str, ...]) -> KeyHint:
    if written in _TOP_NAMES:
        # What Java checks at top level is reported by the check itself.
        return KeyHint(key=None if written in MAKER_KEYS else TABLE[written])
    if spelling := _spelling(written):
        return _old(spelling, "")
    if written.startswith((*_OPEN_AT_TOP, *_OPEN_FOR_CONVERTERS, *_STORAGE)):
        return KeyHint(key=TABLE.get(written))
    if (near := nearest_of_sql(written)) is not None and written not in _FLOW_NAMES:
        return KeyHint(message="unknown key, which has no effect.", suggestion=near)
    if written.startswith(_OF_TRANSFORMS) or written in _WORKER_NAMES | _CLIENT_KEYS | _FLOW_NAMES:
        return _belongs_below(written, clusters, targets)
    return _unknown("", written, _TOP_NAMES | _cluster_keys(written, clusters))


def _belongs_below(written: str, clusters: tuple[str, ...], targets: tuple[str, ...]) -> KeyHint:
    cluster = clusters[0] if clusters else "A"
    if written in _WORKER_NAMES:
        message = "no effect at top level, it belongs to a cluster that is written to."
        suggestion = " or ".join(f"{target}.{written}" for target in targets or (cluster,))
        return KeyHint(message=message, suggestion=suggestion)
    if written in _CLIENT_KEYS:
        message = "no effect at top level, it belongs to a cluster."
        return KeyHint(message=message, suggestion=f"{cluster}.{written}")
    message = "no effect at top level, it belongs to a flow."
    return KeyHint(message=message, suggestion=f"S->T.{written}")


def _cluster_keys(written: str, clusters: tuple[str, ...]) -> frozenset[str]:
    """The same key for each of the clusters, in case that the alias is misspelt."""
    _, dot, name = written.partition(".")
    return frozenset(f"{alias}.{name}" for alias in clusters if dot and name in _CLUSTER_NAMES)


def _unknown_flow(written: str, clusters: tuple[str, ...]) -> KeyHint:
    """``A->X.enabled`` where X is none of the clusters: the flow that was meant does not exist."""
    flow, _, name = written.partition(".")
    source, _, target = flow.partition("->")
    if source == target:
        message = f"a flow goes from one cluster to another, not from {source} to itself."
        return KeyHint(message=message, wrong=True)
    flows = [f"{s}->{t}" for s in clusters for t in clusters if s != t]
    near = nearest(flow, flows)
    return KeyHint(
        message=f"flow {flow} names a cluster that is not in clusters.",
        suggestion=f"{near}.{name}" if near else None,
        wrong=True,
    )


def _spelling(name: str) -> KeyAlias | None:
    return next(
        (
            s
            for s in SPELLINGS
            if name == s.name or (s.name.endswith(".") and name.startswith(s.name))
        ),
        None,
    )


def _old(spelling: KeyAlias, prefix: str) -> KeyHint:
    message = f"not a key of Kafka's MirrorMaker. {spelling.doc}"
    target = spelling.stands_for
    alias = spelling.treatment is Treatment.ALIAS and target is not None
    return KeyHint(message=message, suggestion=f"{prefix}{target}" if alias else None, read=True)


def _unknown(prefix: str, name: str, known: frozenset[str]) -> KeyHint:
    near = nearest(name, known)
    message = "unknown key, which has no effect."
    if near == "topics":
        message = "unknown key, which has no effect: without topics, all topics are mirrored."
    return KeyHint(message=message, suggestion=f"{prefix}{near}" if near else None)
