"""
Matches of names that others choose with patterns of the user's: bounded, remembered and told.

Whoever creates topics on a source, or commits there, chooses names; some patterns take hours for
some names. Nobody who asks has to expect that: an answer is always there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mm2.errors import PatternTimeout

_MOST_TIMEOUTS: Final = 10
_MOST_REMEMBERED: Final = 100_000


class NameMatch:
    """
    Whether names match a pattern.

    A name has the same answer for as long as this exists, however long a second match would take.
    After ten names that took too long, no name that is new is tried.

    Args:
        matches: matches the pattern; raises ``PatternTimeout`` if that takes too long.
        otherwise: what names count as that are not tried, or take too long.
        key: of the configuration, which has the pattern.
    """

    def __init__(self, matches: Callable[[str], bool], *, otherwise: bool, key: str | None) -> None:
        self._matches = matches
        self._otherwise = otherwise
        self._key = key
        self._answers: dict[str, bool] = {}
        self._timeouts: set[str] = set()

    def __call__(self, name: str) -> bool:
        """Whether a name matches; a name that is new can take a second, others take no time."""
        known = self._answers.get(name)
        return self._try(name) if known is None else known

    def _try(self, name: str) -> bool:
        if name in self._timeouts or len(self._timeouts) >= _MOST_TIMEOUTS:
            return self._otherwise
        try:
            found = self._matches(name)
        except PatternTimeout as error:
            self._timeouts.add(name)
            self._log_timeout(name, error)
            return self._otherwise
        if len(self._answers) < _MOST_REMEMBERED:
            self._answers[name] = found
        return found

    def _log_timeout(self, name: str, error: PatternTimeout) -> None:
        import structlog  # noqa: PLC0415 - takes long to import, while a program starts

        log = structlog.get_logger()
        log.error(
            "pattern.timed_out",
            name=name,
            counts_as="a match" if self._otherwise else "no match",
            tried_with_others=len(self._timeouts) < _MOST_TIMEOUTS,
            error=error.message if self._key is None else f"{self._key}: {error.message}",
        )
