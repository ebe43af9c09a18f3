"""
Who gets credentials: the one rule for all layers of settings that make up a client's.

A client's settings come in layers, each over those before it: its cluster's, those of its kind,
overrides. Who may write one layer must not have the credentials of another sent where he likes. So
a layer that names other servers, or has the client trust more or protect less, inherits none.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from mm2.config.keys.key_types import java_trim, split_list
from mm2.config.keys.keys_clients import CLIENT_KINDS
from mm2.config.keys.keys_security import CLIENT_NAMES
from mm2.errors import ConfigError, ConfigErrors

SERVERS: Final = "bootstrap.servers"
_PROTOCOL: Final = "security.protocol"
_WITH_TLS: Final = ("SSL", "SASL_SSL")
_OF_CREDENTIALS: Final = ("sasl.", "ssl.key")
"""How keys begin by which a client proves who it is: logins, key stores and keys."""

_ADDRESSES: Final = (SERVERS, "bootstrap.controllers")
_URL: Final = ".url"
"""Ends the keys of the servers of OAUTHBEARER, which are sent secrets, too."""

_GUARDS: Final = (
    "sasl.mechanism",
    "security.providers",
    "ssl.endpoint.identification.algorithm",
    "ssl.engine.factory.class",
    "ssl.provider",
    "ssl.trust",
)
"""How keys begin by which a client protects what it says, or knows whom it says it to."""

_CONNECTION: Final = CLIENT_NAMES | {
    "bootstrap.controllers",
    "client.dns.lookup",
    "forwarding.admin.class",
    "security.providers",
}

CLIENT_PREFIXES: Final = tuple(
    f"{side}.{kind}." for side in ("source", "target") for kind in ("cluster", *CLIENT_KINDS)
)
"""Behind these, settings of clients are handed down to connectors."""


def is_credential(name: str) -> bool:
    """Whether a client's key, without a prefix, is about how it proves who it is."""
    return name.startswith(_OF_CREDENTIALS)


def is_of_connection(key: str) -> bool:
    """Whether a key, behind whatever prefix, says where to connect or how to log in."""
    parts = key.split(".")
    return any(".".join(parts[start:]) in _CONNECTION for start in range(len(parts)))


def merged(layers: Iterable[Mapping[str, str]], *, servers: str = "") -> dict[str, str]:
    """
    The settings of one client: layers, the later over the earlier, without what is not inherited.

    Args:
        layers: keys without prefixes and their values, resolved; the lowest first.
        servers: where the lowest layer leads if it does not say so.
    """
    found: dict[str, str] = {}
    for layer in layers:
        if leads_elsewhere(layer, {SERVERS: servers, **found}):
            found = {name: value for name, value in found.items() if not is_credential(name)}
        found |= layer
    return found


def without_borrowed(
    properties: Mapping[str, str], inherited: Mapping[str, str], own: Collection[str]
) -> tuple[Mapping[str, str], list[str]]:
    """
    What is left of a connector's properties where its own keys lead clients elsewhere.

    Args:
        inherited: what is handed down to it, also where its own keys stand over that.
        own: the keys that it says itself.

    Returns:
        The properties, and a sentence for each prefix that has lost credentials.
    """
    lost = {each: _borrowed(each, inherited, properties, own) for each in CLIENT_PREFIXES}
    gone = frozenset().union(*lost.values())
    left = {key: value for key, value in properties.items() if key not in gone}
    return left, [_LED_ELSEWHERE.format(prefix=prefix) for prefix in lost if lost[prefix]]


_LED_ELSEWHERE: Final = (
    "{prefix}* names other servers, or weaker security, than what the credentials inherited there"
    " belong to, and inherits none: write its own sasl.* and ssl.keystore.* beside it"
)


def _borrowed(
    prefix: str, inherited: Mapping[str, str], properties: Mapping[str, str], own: Collection[str]
) -> frozenset[str]:
    """The credentials of others below a prefix whose clients are led elsewhere."""
    if not leads_elsewhere(_client(prefix, properties), _client(prefix, inherited)):
        return frozenset()
    return frozenset(
        key
        for key in properties.keys() - own
        if key.startswith(prefix) and is_credential(key.removeprefix(prefix))
    )


def check_kept(
    before: Mapping[str, str],
    after: Mapping[str, str],
    in_request: Collection[str],
    worker: Mapping[str, str],
) -> None:
    """
    Makes sure that nobody has credentials that he was not shown sent elsewhere.

    Args:
        in_request: the keys whose values are in the request itself.
        worker: its properties, which count for some clients where the connector says nothing.

    Raises:
        ConfigErrors: credentials to be written again, as their clients are led elsewhere.
    """
    stale: set[str] = set()
    for side, kind in itertools.product(("source", "target"), ("cluster", *CLIENT_KINDS)):
        prefixes = (f"{side}.cluster.", f"{kind}.", f"{side}.{kind}.", f"{kind}.override.")
        old, new = _layered(prefixes, before), _layered(prefixes, after)
        if _leads_elsewhere_over(worker, old, new):
            stale |= {
                key
                for key in before.keys() & after.keys() - set(in_request)
                for prefix in prefixes
                if key.startswith(prefix) and is_credential(key.removeprefix(prefix))
            }
    if stale:
        raise ConfigErrors([ConfigError(_AGAIN.format(key=key), key=key) for key in sorted(stale)])


def _leads_elsewhere_over(
    worker: Mapping[str, str], old: Mapping[str, str], new: Mapping[str, str]
) -> bool:
    """``leads_elsewhere`` for whole settings of a client: over the worker's, or over defaults."""
    own = {name: value for name, value in worker.items() if name in _CONNECTION}
    gone = {name: _DEFAULTS.get(name, "") for name in old.keys() - new.keys() if _is_guard(name)}
    return any(
        leads_elsewhere({**gone, **below, **new}, {**below, **old})
        for below in (_DEFAULTS | own, _DEFAULTS | {SERVERS: worker.get(SERVERS, "")})
    )


_AGAIN: Final = (
    "{key} belongs to other servers, or to better security, than what is asked for: write it again"
    " in the same request"
)


def _layered(prefixes: Iterable[str], properties: Mapping[str, str]) -> dict[str, str]:
    return {
        key.removeprefix(prefix): value
        for prefix in prefixes
        for key, value in properties.items()
        if key.startswith(prefix)
    }


def _client(prefix: str, properties: Mapping[str, str]) -> dict[str, str]:
    """What counts for the clients of a prefix, from the lowest to the highest layer."""
    side, kind, _ = prefix.split(".")
    return _layered((f"{side}.cluster.", f"{kind}.", prefix), properties)


def leads_elsewhere(layer: Mapping[str, str], below: Mapping[str, str]) -> bool:
    """
    Whether credentials of ``below`` would reach others, or be seen by others, because of a layer.

    A list of servers leads elsewhere if it has one that is not below; where nothing is said below,
    credentials are for whatever servers there are.
    """
    return (
        any(_adds(layer, below, key) for key in _ADDRESSES)
        or (_has_tls(below) and _PROTOCOL in layer and not _has_tls(layer))
        or any(_differs(name, layer, below) for name in layer)
    )


def _adds(layer: Mapping[str, str], below: Mapping[str, str], key: str) -> bool:
    known = {server for name in _ADDRESSES for server in _servers(below.get(name, ""))}
    # An empty list, too: nobody is to make the next layer the first that names servers.
    return bool(known) and key in layer and not set() < _servers(layer[key]) <= known


def _servers(text: str) -> set[str]:
    return {server.lower() for server in split_list(text) if server}


def _has_tls(layer: Mapping[str, str]) -> bool:
    return java_trim(layer.get(_PROTOCOL, "")).upper() in _WITH_TLS


def _differs(name: str, layer: Mapping[str, str], below: Mapping[str, str]) -> bool:
    return _is_guard(name) and layer[name] != below.get(name, _default_below(name, layer))


def _is_guard(name: str) -> bool:
    return name.startswith(_GUARDS) or (name.startswith("sasl.") and name.endswith(_URL))


def _default_below(name: str, layer: Mapping[str, str]) -> str | None:
    """What counts below where nothing is said; a login names its mechanism, or there is none."""
    return layer[name] if name == "sasl.mechanism" else _DEFAULTS.get(name)


_DEFAULTS: Final = {
    _PROTOCOL: "PLAINTEXT",
    "sasl.mechanism": "GSSAPI",
    "ssl.endpoint.identification.algorithm": "https",
}
"""Of clients whose settings say nothing about it."""
