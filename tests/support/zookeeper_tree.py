"""What stands in a ZooKeeper, for code that only reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kazoo.exceptions import NoNodeError


class ZooKeeperTree:
    """Takes the place of ``KazooClient``; ``nodes`` are the texts at paths."""

    def __init__(self, nodes: Mapping[str, str]) -> None:
        self._nodes = nodes

    def start(self, timeout: float) -> None:
        """As kazoo's."""

    def stop(self) -> None:
        """As kazoo's."""

    def close(self) -> None:
        """As kazoo's."""

    def get(self, path: str) -> tuple[bytes, Any]:
        """As kazoo's."""
        if path not in self._nodes:
            raise NoNodeError
        return self._nodes[path].encode(), None

    def get_children(self, path: str) -> list[str]:
        """As kazoo's."""
        below = [
            each.removeprefix(f"{path}/") for each in self._nodes if each.startswith(f"{path}/")
        ]
        if not below:
            raise NoNodeError
        return list({each.partition("/")[0] for each in below})
