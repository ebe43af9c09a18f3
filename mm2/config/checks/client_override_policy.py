"""
Which settings of its clients a connector may override (KIP-458): the worker's permission.

Java's dedicated mode does not look at it and allows everything; here it counts there too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mm2.config.keys.key_types import Value
from mm2.config.keys.keys_clients import CLIENT_KINDS
from mm2.errors import ConfigError

POLICY_KEY: Final = "connector.client.config.override.policy"
ALLOWLIST_KEY: Final = "connector.client.config.override.allowlist"
_PRINCIPAL: Final = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})
_POLICIES: Final = ("All", "Allowlist", "None", "Principal")
_CLASS: Final = "ConnectorClientConfigOverridePolicy"
_PACKAGE: Final = "org.apache.kafka.connect.connector.policy."
_PREFIXES: Final = tuple(f"{kind}.override." for kind in CLIENT_KINDS)


def _name(value: Value) -> str:
    return str(value).removeprefix(_PACKAGE).removesuffix(_CLASS)


def known_policy(value: Value) -> str | None:
    """Accepts Connect's own policies, by their names and classes."""
    problem = f"must be one of {', '.join(_POLICIES)}; classes of your own in Java cannot be loaded"
    return None if _name(value) in _POLICIES else problem


def forbidden(
    connector: Iterable[str], policy: Value, allowlist: Value, policy_key: str
) -> Iterable[ConfigError]:
    """
    A mistake for each override of a connector that its worker does not allow.

    Args:
        policy_key: the first of them as the user would write it.
    """
    name = _name(policy)
    if name == "All":
        return
    listed = frozenset(map(str, allowlist)) if isinstance(allowlist, tuple) else frozenset()
    allowed = {"Allowlist": listed, "Principal": _PRINCIPAL}.get(name, frozenset())
    for key in sorted(key for key in connector if key.startswith(_PREFIXES)):
        if key.split(".", 2)[2] not in allowed:
            message = f"{key} is not allowed: {policy_key} is {name}, which {_allows(allowed)}"
            yield ConfigError(message, key=key)


def _allows(allowed: frozenset[str]) -> str:
    return f"allows only {', '.join(sorted(allowed))}" if allowed else "allows no overrides"
