"""Keys of today's clients that ask the legacy tool for what is not done, and why it is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from mm2.config.keys.definition import Key, Support
from mm2.config.keys.keys_clients import CLIENT_ROWS, ClientKind
from mm2.config.keys.keys_security import SECURITY_KEYS

OBEYED: Final = frozenset(
    {
        "config.providers",
        "exclude.internal.topics",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "max.poll.interval.ms",
        "partition.assignment.strategy",
        "session.timeout.ms",
    }
)
"""Keys that a mirror of MirrorMaker 2 does not obey, which reads without a consumer group."""

_QUESTIONS: Final = "it counts for questions about topics and groups alone, and not for records"
_REASONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "receive.buffer.bytes",
            "reconnect.backoff.max.ms",
            "reconnect.backoff.ms",
            "retry.backoff.max.ms",
            "send.buffer.bytes",
            "socket.connection.setup.timeout.ms",
        ),
        _QUESTIONS,
    ),
    **dict.fromkeys(
        ("share.acknowledgement.mode", "share.acquire.mode"),
        "consumers of a group share no records",
    ),
    "transaction.timeout.ms": "copies are made outside of transactions",
}
"""Where the legacy tool obeys something else than a mirror."""

_PROTOCOL: Final = "group.protocol"
_CLASSIC: Final = "classic"
_NEWER: Final = "consumer"
_OTHER_PROTOCOL: Final[Mapping[str, tuple[str, str]]] = {
    "group.remote.assignor": (_CLASSIC, f"it needs {_PROTOCOL}={_NEWER}"),
    **dict.fromkeys(
        ("heartbeat.interval.ms", "partition.assignment.strategy", "session.timeout.ms"),
        (_NEWER, f"with {_PROTOCOL}={_NEWER} the broker decides it"),
    ),
}
"""Keys that have no effect with one of the protocols."""

_DEFAULTS: Final[Mapping[str, str]] = {"transaction.timeout.ms": "60000"}


@dataclass(frozen=True, slots=True)
class UnobeyedKey:
    """
    A key that is not obeyed.

    Attributes:
        is_refused: whether records would not be what they are expected to be; else it is harmless.
    """

    key: str
    reason: str
    is_refused: bool = False


def unobeyed_keys(kind: ClientKind, properties: Mapping[str, str]) -> Iterator[UnobeyedKey]:
    """
    The keys of a client that are not obeyed.

    A value that asks for what is done anyway, such as a default, is left out.
    """
    rows = _rows(kind)
    protocol = properties.get(_PROTOCOL, "").strip().lower() or _CLASSIC
    for key, value in properties.items():
        row = rows.get(key)
        where, reason = _OTHER_PROTOCOL.get(key, ("", ""))
        if kind == "consumer" and where == protocol and value.strip():
            yield UnobeyedKey(key, reason)
        elif row is not None and row.asks_in_vain(value):
            yield UnobeyedKey(key, row.reason, row.support is Support.REFUSED)


def _rows(kind: ClientKind) -> dict[str, Key]:
    rows = {each.name: each for each in SECURITY_KEYS} | dict(CLIENT_ROWS[kind])
    found = {name: row for name, row in rows.items() if name not in OBEYED}
    for name, reason in _REASONS.items():
        if name in found:
            default = _DEFAULTS.get(name, found[name].default)
            found[name] = replace(found[name], ignored=reason, default=default)
    return found
