"""
The keys by which a client finds its cluster, and what all keys of ``keys_security`` share.
"""

from __future__ import annotations

from typing import Final

from mm2.config.keys.definition import (
    Check,
    Definition,
    Key,
    Type,
    items,
    one_of_any_case,
)

_SECURITY: Final = frozenset(
    {
        Definition.MAKER,
        Definition.SOURCE,
        Definition.CHECKPOINT,
        Definition.HEARTBEAT,
        Definition.CLIENT,
        Definition.WORKER,
    }
)


def client_key(  # noqa: PLR0917 - a row of a table
    name: str,
    type_: Type,
    default: str | None,
    importance: str,
    doc: str,
    check: Check | None = None,
) -> Key:
    """A key that every client has, and every definition that holds the keys of clients."""
    return Key(
        name=name,
        type=type_,
        default=default,
        importance=importance,
        doc=doc,
        definitions=_SECURITY,
        check=check,
    )


CONNECTION_KEYS: Final = (
    Key(
        name="bootstrap.servers",
        type=Type.LIST,
        default=None,
        importance="HIGH",
        doc=(
            "Brokers to ask first, as host:port, separated by commas. Given per cluster: "
            "A.bootstrap.servers."
        ),
        definitions=frozenset({Definition.CLIENT, Definition.WORKER}),
        required=True,
        check=items(empty_allowed=False),
    ),
    client_key(
        "security.protocol",
        Type.STRING,
        "PLAINTEXT",
        "MEDIUM",
        "How to talk to the brokers: with or without TLS, with or without SASL. Any case.",
        one_of_any_case("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    ),
)
