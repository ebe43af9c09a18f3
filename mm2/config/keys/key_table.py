"""The one table of keys, put together from its parts, and the questions that are asked of it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from mm2.config.keys.definition import Definition, Key
from mm2.config.keys.key_types import Type
from mm2.config.keys.keys_connectors import CONNECTOR_KEYS
from mm2.config.keys.keys_mm2 import OWN_KEYS, SQL
from mm2.config.keys.keys_security import CLIENT_NAMES, SECURITY_KEYS
from mm2.config.keys.keys_top import REST_KEYS, TOP_KEYS
from mm2.config.keys.keys_worker import WORKER_KEYS
from mm2.core.model import CHECKPOINT_CONNECTOR, HEARTBEAT_CONNECTOR, SOURCE_CONNECTOR

TABLE: Final[Mapping[str, Key]] = MappingProxyType(
    {
        key.name: key
        for key in (
            *TOP_KEYS,
            *CONNECTOR_KEYS,
            *OWN_KEYS,
            *REST_KEYS,
            *SECURITY_KEYS,
            *WORKER_KEYS,
        )
    }
)


def _prefix(name: str, doc: str, reason: str) -> Key:
    definitions = frozenset({Definition.SOURCE})
    return Key(name, Type.STRING, None, doc, definitions=definitions, ignored=reason)


PREFIXES: Final = (
    _prefix(
        SQL, "Any other name than those that are listed.", "none of the keys for SQL has that name"
    ),
    _prefix("transforms.", "What a transform is set to.", "transforms does not list its name"),
    _prefix("predicates.", "What a predicate is set to.", "predicates does not list its name"),
    _prefix(
        "topic.creation.", "Topics that Connect creates.", "mirroring creates its topics itself"
    ),
)
"""Of keys that no row has, those that begin so do nothing here; the longest first."""

SQL_NAMES: Final = frozenset(name for name in TABLE if name.startswith(SQL))

CONNECTOR_DEFINITION: Final[Mapping[str, Definition]] = MappingProxyType(
    {
        SOURCE_CONNECTOR: Definition.SOURCE,
        CHECKPOINT_CONNECTOR: Definition.CHECKPOINT,
        HEARTBEAT_CONNECTOR: Definition.HEARTBEAT,
    }
)


@cache
def keys_of(definition: Definition) -> Mapping[str, Key]:
    """The keys that Java's definition has; for OWN, those that are ours."""
    own = definition is Definition.OWN
    return MappingProxyType(
        {
            name: key
            for name, key in TABLE.items()
            if definition in key.definitions and (Definition.OWN in key.definitions) is own
        }
    )


MAKER_KEYS: Final = keys_of(Definition.MAKER)
WORKER_AND_POLICY: Final = {**keys_of(Definition.WORKER), **keys_of(Definition.POLICY)}
"""All that a worker may be set to."""
CONNECTOR_NAMES: Final = frozenset().union(*(keys_of(d) for d in CONNECTOR_DEFINITION.values()))
"""What top-level keys reach the connectors (C044): Java's ``allConfigNames``."""

__all__ = [
    "CLIENT_NAMES",
    "CONNECTOR_DEFINITION",
    "CONNECTOR_NAMES",
    "MAKER_KEYS",
    "PREFIXES",
    "SQL_NAMES",
    "TABLE",
    "WORKER_AND_POLICY",
    "keys_of",
    "nearest",
    "nearest_of_sql",
]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one most likely means, if there is any that is near."""
    names = {candidate.lower(): candidate for candidate in sorted(known)}
    found = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.75)
    return names[found[0]] if found else None


def nearest_of_sql(name: str) -> str | None:
    """The key for SQL that a misspelt one most likely means, by what stands behind the prefix."""
    columns = (known.removeprefix(SQL) for known in SQL_NAMES)
    near = nearest(name.removeprefix(SQL), columns) if name.startswith(SQL) else None
    return near and f"{SQL}{near}"
