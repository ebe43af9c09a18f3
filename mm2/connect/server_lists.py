"""Whether two lists of servers lead to the same cluster, however they are written."""

from __future__ import annotations

from typing import Final

from mm2.config.keys.key_types import split_list

_HERE: Final = ("127.0.0.1", "[::1]")
_PROTOCOL_END: Final = "://"


def is_same_cluster(one: str, other: str) -> bool:
    """
    Whether the lists have a server in common: no server is in two clusters.

    Lists of one cluster without a common server are not recognized; only the clusters can tell.
    """
    return one.strip() == other.strip() or bool(_servers(one) & _servers(other))


def _servers(text: str) -> set[str]:
    return {_server(each) for each in split_list(text) if each}


def _server(text: str) -> str:
    """Host and port as they are compared: without a protocol, this machine by one name."""
    host, _, port = text.lower().rpartition(_PROTOCOL_END)[2].rpartition(":")
    host = host.rstrip(".")
    return f"{'localhost' if host in _HERE else host}:{port}"
