"""Stores a standalone worker's connectors in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from mm2.connect.config_state import ConfigState
from mm2.core.connect.config_records import ConnectorConfig, Entry


class MemoryStore:
    """Holds connectors as long as the process lives, as Connect's standalone workers do."""

    awaited: Final = None

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.contents = ConfigState()
        self.changed = asyncio.Event()
        for entry in entries:
            self.contents.take(entry)

    async def run(self) -> None:
        """No-op: single process."""

    async def loaded(self) -> None:
        """Returns at once."""

    async def is_gone(self, name: str) -> bool:
        """Whether there is no connector of this name."""
        return name not in self.contents.configs

    async def add(self, *entries: Entry) -> None:
        """Adds entries in their order."""
        for entry in entries:
            self.contents.take(entry)
        self.changed.set()

    async def replace(
        self, before: Mapping[str, str] | None, new: ConnectorConfig, *entries: Entry
    ) -> bool:
        """Adds entries, if the configuration is what it was made from."""
        if self.contents.configs.get(new.name) != before:
            return False
        await self.add(*entries, new)
        return True
