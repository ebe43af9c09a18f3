"""The connectors of a worker, as the entries in their store make them one after the other."""

from __future__ import annotations

from collections.abc import Mapping

from mm2.core.connect_configs import ConnectorConfig, Entry, Restart, TargetState, WantedState


class Contents:
    """
    The connectors, as the entries so far make them.

    Attributes:
        configs: by names.
        wanted: what is wanted of those of which something was said.
        restarts: how often each was to be started anew.
    """

    def __init__(self) -> None:
        self.configs: dict[str, Mapping[str, str]] = {}
        self.wanted: dict[str, TargetState] = {}
        self.restarts: dict[str, int] = {}

    def take(self, entry: Entry) -> None:
        """Takes in the next entry."""
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
            case Restart(name, _, _):
                self.restarts[name] = self.restarts.get(name, 0) + 1

    def state(self, name: str) -> TargetState:
        """What is wanted of a connector: that it runs, unless somebody has said otherwise."""
        return self.wanted.get(name, TargetState.STARTED)

    def inverse(self, entry: Entry) -> Entry | None:
        """What takes an entry back that comes next; None for one that leaves nothing behind."""
        match entry:
            case ConnectorConfig(name, _):
                return ConnectorConfig(name, self.configs.get(name))
            case WantedState(name, _):
                return WantedState(name, self.wanted.get(name))
            case _:
                return None


def is_first(undo: Entry, before: Mapping[str, str] | None, new: ConnectorConfig) -> bool:
    """
    Whether a configuration came next after the one that it was made from.

    A record whose answer was lost may be there twice, and the second comes after the first: that
    somebody else wrote the very same in between makes no difference.

    Args:
        undo: the inverse of the new configuration, where it was last read.
        before: what it was made from.
        new: the new one.
    """
    return undo in (ConnectorConfig(new.name, before), new)
