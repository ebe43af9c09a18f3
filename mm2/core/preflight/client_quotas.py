"""
Which quotas of a cluster hold for our clients, and how many bytes these allow.

For each kind of quota the most specific one holds, as brokers choose it: of the user before the
client id, of a name before the default. It holds on each broker for itself. Clients of a user share
the user's; one that names client ids, or is the default of these, holds for each client id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from mm2.core.preflight.acl_commands import shell

Quotas: TypeAlias = Mapping[str, Mapping[str, float]]
"""Limits by what they are for, such as ``client-id=x, user=y``."""

BYTE_RATES: Final = ("consumer_byte_rate", "producer_byte_rate")
_DEFAULT: Final = "<default>"
_USER: Final = "user"
_CLIENT: Final = "client-id"
_OPTIONS: Final = ((_USER, "users"), (_CLIENT, "clients"))


@dataclass(frozen=True, slots=True)
class Clients:
    """
    Who we are to a cluster.

    Attributes:
        user: None if that is not known.
    """

    user: str | None
    client_ids: Collection[str]


def quotas_of(quotas: Quotas, clients: Clients) -> dict[str, dict[str, float]]:
    """The quotas that hold for any of our clients."""
    found: dict[str, dict[str, float]] = {}
    for key in sorted({key for limits in quotas.values() for key in limits}):
        for client_id in clients.client_ids:
            if (who := _holding(quotas, key, clients.user, client_id)) is not None:
                found.setdefault(who, {})[key] = quotas[who][key]
    return found


def allowed_rate(quotas: Quotas, key: str, clients: Clients, brokers: int) -> float | None:
    """Bytes per second that our clients may have together; None if one of them is not limited."""
    limits: dict[tuple[str, str], float] = {}
    for client_id in clients.client_ids:
        who = _holding(quotas, key, clients.user, client_id)
        if who is None:
            return None
        limits[who, client_id if _CLIENT in _entity(who) else ""] = quotas[who][key]
    return brokers * sum(limits.values()) or None


def raising_command(
    who: str, limits: Mapping[str, float], *, servers: str, is_secured: bool
) -> str:
    """
    The command that doubles the limits of a user or a client.

    Args:
        is_secured: whether the administrator's client needs settings, too.
    """
    entity = _entity(who)
    doubled = ",".join(f"{key}={2 * limit:.15g}" for key, limit in limits.items())
    words = ["kafka-configs.sh", "--bootstrap-server", servers]
    words += ["--command-config", "admin.properties"] if is_secured else []
    words += ["--alter", "--add-config", doubled]
    for kind, option in _OPTIONS:
        if kind in entity:
            name = entity[kind]
            words += ["--entity-type", option]
            words += ["--entity-default"] if name == _DEFAULT else ["--entity-name", name]
    return shell(*words)


def _holding(quotas: Quotas, key: str, user: str | None, client_id: str) -> str | None:
    """For whom the quota is that holds for a client."""
    matching = [who for who in _by_precedence(user, client_id) if key in quotas.get(who, {})]
    return matching[0] if matching else None


def _by_precedence(user: str | None, client_id: str) -> Iterator[str]:
    users = [user, _DEFAULT] if user else [_DEFAULT]
    for each in users:
        for name in (client_id, _DEFAULT):
            yield f"{_CLIENT}={name}, {_USER}={each}"
        yield f"{_USER}={each}"
    yield from (f"{_CLIENT}={name}" for name in (client_id, _DEFAULT))


def _entity(who: str) -> dict[str, str]:
    """Names by kinds, of those that ``_by_precedence`` makes."""
    client, both, user = who.rpartition(f", {_USER}=")
    parts = (client, f"{_USER}={user}") if both else (who,)
    return {kind: name for kind, _, name in (each.partition("=") for each in parts)}
