"""
The levels of logging, for all events or those of one kind, changed while the process runs.

Events are called ``noun.past_tense``; the nouns are the loggers that operators see, beside "root".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mm2.clock import now_ms
from mm2.telemetry.log_settings import NOUNS, start_levels
from mm2.telemetry.logs import choose_levels

ROOT: Final = "root"
LEVELS: Final[Mapping[str, int]] = {
    "ALL": 0,
    "TRACE": 5,
    "DEBUG": 10,
    "INFO": 20,
    "WARN": 30,
    "ERROR": 40,
    "FATAL": 50,
    "OFF": 100,
}
"""Levels by the names that Java's loggers have for them."""

_NAMES: Final = {
    "debug": "DEBUG",
    "info": "INFO",
    "warning": "WARN",
    "error": "ERROR",
    "critical": "FATAL",
}
"""Java's names of the levels that the environment can choose."""


@dataclass(frozen=True, slots=True)
class Level:
    """
    The level of a logger.

    Attributes:
        name: as in ``LEVELS``.
        changed_ms: when it was set; None if it is as at the start.
    """

    name: str
    changed_ms: int | None = None


class ChosenLevels:
    """
    The levels that operators have chosen in this process, for tasks of the flows that it leads.

    Attributes:
        levels: their names, as in ``LEVELS``, by logger.
    """

    def __init__(self) -> None:
        self.levels: Mapping[str, str] = {}
        self._listeners: list[Callable[[], None]] = []

    def choose(self, levels: Mapping[str, str]) -> None:
        """Replaces them, and tells those who listen."""
        self.levels = dict(levels)
        for changed in list(self._listeners):
            changed()

    @contextmanager
    def listen(self, changed: Callable[[], None]) -> Iterator[None]:
        """Calls ``changed`` after each change, for as long as the context lasts."""
        self._listeners.append(changed)
        try:
            yield
        finally:
            self._listeners.remove(changed)


CHOSEN: Final = ChosenLevels()
"""Of this process."""


class LogLevels:
    """
    The levels of this process; takes effect with the first change.

    Args:
        chosen: is told of each change; nobody is, if None.
    """

    def __init__(self, chosen: ChosenLevels | None = None) -> None:
        self._chosen = chosen
        begun = start_levels()
        named = {ROOT: begun.root, **begun.nouns}
        self._levels = {each: Level(_NAMES[level]) for each, level in named.items()}

    def all(self) -> Mapping[str, Level]:
        """The loggers whose level has been set, by their names."""
        return dict(sorted(self._levels.items()))

    def of(self, logger: str) -> Level | None:
        """The level that counts for a logger; None if there is no such logger."""
        if logger not in known_loggers():
            return None
        return self._levels.get(logger, self._levels[ROOT])

    def set(self, logger: str, level: str) -> list[str]:
        """
        Sets a level by its name; returns the loggers that this is about.

        The root's level is that of all, as in Connect.
        """
        changed_ms = now_ms()
        names = sorted(self._levels) if logger == ROOT else [logger]
        for name in names:
            self._levels[name] = Level(level, changed_ms)
        self._follow()
        if self._chosen is not None:
            self._chosen.choose(
                {each: level.name for each, level in self._levels.items() if level.changed_ms}
            )
        return names

    def take(self, levels: Mapping[str, str]) -> None:
        """Goes on with levels that another process has chosen; unknown names are passed over."""
        known = {each: Level(name) for each, name in levels.items() if name in LEVELS}
        self._levels.update(known)
        self._follow()

    def _follow(self) -> None:
        numbers = {each: LEVELS[level.name] for each, level in self._levels.items()}
        choose_levels(numbers.pop(ROOT), numbers)


def take_levels(levels: Mapping[str, str]) -> None:
    """Has this process, a task, log as the node does that leads its flow; none: as it began."""
    if levels:
        LogLevels().take(levels)


class Logged(StrEnum):
    """Which events a process logs: all, or those that it logged at its start."""

    ALL = "all"
    USUAL = "usual"


def log_these(logged: Logged) -> None:
    """Changes it for this process."""
    levels = LogLevels()
    if logged is Logged.ALL:
        levels.set(ROOT, _NAMES["debug"])
    else:
        levels.take({})


def known_loggers() -> frozenset[str]:
    """The names that loggers can have."""
    return NOUNS | {ROOT}
