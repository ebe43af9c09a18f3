"""The connectors of a worker, as the entries in their store make them one after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TypeAlias

from mm2.core.connect.config_records import (
    Base,
    ConnectorConfig,
    ConnectorTarget,
    Entry,
    Restart,
    TargetState,
)


class ConfigState:
    """
    The connectors, as the entries so far make them.

    An entry may have the offset up to which its writer had read. It does not count if there is a
    newer entry for its connector: all who read the same entries decide alike, without requests.

    Attributes:
        targets: target states; connectors without one run.
        restarts: how often a restart was requested.
        read: the offset of the last entry; -1 if there was none.
    """

    def __init__(self) -> None:
        self.configs: dict[str, Mapping[str, str]] = {}
        self.targets: dict[str, TargetState] = {}
        self.restarts: dict[str, int] = {}
        self.read = -1
        self._changed: dict[str, int] = {}
        self._late: dict[str, int] = {}
        self._ambiguous: set[tuple[type[Entry], str]] = set()

    def take(self, entry: Entry, at: int = 0, base: Base | None = None) -> bool:
        """
        Applies the next entry; returns whether the state is now as in the entry.

        Args:
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
            self._ambiguous.add(key)
            return False
        if base is None or base.read >= self._late.get(name, -1):
            self._ambiguous.discard(key)
        else:
            self._ambiguous.add(key)
        return True

    def state(self, name: str) -> TargetState:
        """A connector's target state."""
        return self.targets.get(name, TargetState.STARTED)

    def is_ambiguous(self, name: str) -> bool:
        """
        Whether other readers may derive another state from the topic.

        Connect's workers, which know no bases, take the last entries, and those may not count.
        Readers after a compaction, which removes earlier entries, take these for the valid ones,
        and entries that were written without them for late.
        """
        return (ConnectorConfig, name) in self._ambiguous or (
            ConnectorTarget,
            name,
        ) in self._ambiguous

    def entries(self, name: str) -> list[Entry]:
        """Entries that make a connector as it is."""
        return [
            ConnectorTarget(name, self.targets.get(name)),
            ConnectorConfig(name, self.configs.get(name)),
        ]

    def _is_as_at(self, base: Base, name: str, at: int) -> bool:
        """Whether nothing has come about a connector, but what was written together with this."""
        changed = self._changed.get(name, -1)
        return changed <= base.read or changed >= at - base.place

    def _put(self, entry: ConnectorConfig | ConnectorTarget) -> None:
        match entry:
            case ConnectorConfig(name, None):
                self.configs.pop(name, None)
            case ConnectorConfig(name, config):
                assert config is not None  # noqa: S101 - the case above
                self.configs[name] = config
            case ConnectorTarget(name, None):
                self.targets.pop(name, None)
            case ConnectorTarget(name, state):
                assert state is not None  # noqa: S101 - the case above
                self.targets[name] = state

    def _has(self, entry: ConnectorConfig | ConnectorTarget) -> bool:
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
    What to write to give a connector another configuration, unless it was changed meanwhile.

    If any entry does not count, the valid ones are written once more, so that all readers derive
    the same state (``ConfigState.is_ambiguous``).

    Args:
        before: what the new configuration was made from; None for no configuration.
        entries: to be written before it.
    """
    is_made = False
    while not is_made and contents().configs.get(new.name) == before:
        is_made = yield [*entries, new]
    while contents().is_ambiguous(new.name):
        yield contents().entries(new.name)
    return is_made
