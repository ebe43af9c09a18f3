"""The connectors of a worker, as the entries in their store make them one after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TypeAlias

from mm2.core.connect.config_records import (
    Base,
    ConnectorConfig,
    Entry,
    Restart,
    TargetState,
    WantedState,
)


class ConfigState:
    """
    The connectors, as the entries so far make them.

    An entry may say up to where its writer had read. It does not count if something about its
    connector has come since: all who read the same entries judge alike, without asking each other.

    Attributes:
        configs: by names.
        wanted: what is wanted of those of which something was said.
        restarts: how often each was to be started anew.
        read: the offset of the last entry; -1 if there was none.
    """

    def __init__(self) -> None:
        self.configs: dict[str, Mapping[str, str]] = {}
        self.wanted: dict[str, TargetState] = {}
        self.restarts: dict[str, int] = {}
        self.read = -1
        self._changed: dict[str, int] = {}
        self._late: dict[str, int] = {}
        self._in_doubt: set[tuple[type[Entry], str]] = set()

    def take(self, entry: Entry, at: int = 0, base: Base | None = None) -> bool:
        """
        Takes in the next entry; returns whether things are as it says now.

        Args:
            entry: the entry.
            at: its offset.
            base: what it was made from; None if it counts in any case.
        """
        self.read = at
        if isinstance(entry, Restart):
            self.restarts[entry.name] = self.restarts.get(entry.name, 0) + 1
            return True
        name, key = entry.name, (type(entry), entry.name)
        if base is None or self._is_as_at(base, name, at):
            self._put(entry)
            self._changed[name] = at
        # One whose answer was lost may be there twice, and the second comes after the first.
        elif not self._has(entry):
            self._late[name] = at
            self._in_doubt.add(key)
            return False
        if base is None or base.read >= self._late.get(name, -1):
            self._in_doubt.discard(key)
        else:
            self._in_doubt.add(key)
        return True

    def state(self, name: str) -> TargetState:
        """What is wanted of a connector: that it runs, unless somebody has said otherwise."""
        return self.wanted.get(name, TargetState.STARTED)

    def is_in_doubt(self, name: str) -> bool:
        """
        Whether somebody may take something else for right than what is.

        Who knows no bases goes by the last entries, and those may have come too late. Who comes
        when compaction has taken away their predecessors takes these for right, and what was
        written without knowing of them for late.
        """
        return (ConnectorConfig, name) in self._in_doubt or (WantedState, name) in self._in_doubt

    def entries(self, name: str) -> list[Entry]:
        """What is right about a connector."""
        return [
            WantedState(name, self.wanted.get(name)),
            ConnectorConfig(name, self.configs.get(name)),
        ]

    def _is_as_at(self, base: Base, name: str, at: int) -> bool:
        """Whether nothing has come about a connector, but what was written together with this."""
        changed = self._changed.get(name, -1)
        return changed <= base.read or changed >= at - base.place

    def _put(self, entry: ConnectorConfig | WantedState) -> None:
        match entry:
            case ConnectorConfig(name, None):
                self.configs.pop(name, None)
            case ConnectorConfig(name, config):
                assert config is not None  # noqa: S101 - the case above
                self.configs[name] = config
            case WantedState(name, None):
                self.wanted.pop(name, None)
            case WantedState(name, state):
                assert state is not None  # noqa: S101 - the case above
                self.wanted[name] = state

    def _has(self, entry: ConnectorConfig | WantedState) -> bool:
        return entry in self.entries(entry.name)


Replacing: TypeAlias = Generator[Sequence[Entry], bool, bool]
"""Yields entries to be written together, is sent whether they count, returns whether all is so."""


def replacing(
    contents: Callable[[], ConfigState],
    before: Mapping[str, str] | None,
    new: ConnectorConfig,
    entries: Sequence[Entry],
) -> Replacing:
    """
    What to write to give a connector another configuration, unless somebody was faster.

    If any entry has come too late meanwhile, what is right is written once more, so that all take
    the same for it (``Contents.is_in_doubt``).

    Args:
        contents: what is there now.
        before: what the new configuration was made from; None for no configuration.
        new: the new one.
        entries: what is to be there before it.
    """
    is_made = False
    while not is_made and contents().configs.get(new.name) == before:
        is_made = yield [*entries, new]
    while contents().is_in_doubt(new.name):
        yield contents().entries(new.name)
    return is_made
