"""A compiled Java pattern."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Protocol

import regex  # type: ignore[import-untyped]  # publishes no types

from mm2.core.java_regex.parser import Parser
from mm2.errors import ConfigError, PatternTimeout

MATCH_WITHIN_S: Final = 1.0
"""Some patterns take exponential time, as in Java; an honest one takes microseconds."""
_SHOWN: Final = 200


class Match(Protocol):
    """Where a pattern was found, and its groups; None stands for a group without a part in it."""

    def start(self) -> int:
        """Where it begins."""

    def end(self) -> int:
        """Behind its last character."""

    def group(self, number: int, /) -> str | None:
        """The text of a group."""


class _Compiled(Protocol):
    def fullmatch(self, string: str, *, concurrent: bool, timeout: float) -> Match | None: ...

    def search(self, string: str, *, concurrent: bool, timeout: float) -> Match | None: ...


@lru_cache
def _compiled(text: str) -> tuple[_Compiled, int, Mapping[str, int]]:
    """Many flows have the same patterns, often the defaults, and each translation takes 1 ms."""
    parser = Parser(text)
    try:
        compiled: _Compiled = regex.compile(parser.translate(), regex.VERSION1)
    except (regex.error, RecursionError) as problem:
        reason = f"Pattern '{text}' is not supported: {problem}"
        raise ConfigError(reason, value=text) from problem
    return compiled, parser.groups, parser.names


class JavaPattern:
    """
    A pattern in the syntax of ``java.util.regex.Pattern``, as Java 17 reads it.

    Raises:
        ConfigError: Java would reject it, or it uses what has no counterpart in Python: a reference
            to the group around it, or boundaries of graphemes.

    Attributes:
        groups: how many capturing groups it has.
        names: their numbers, counted from 1, by their names.
    """

    __slots__ = ("_compiled", "groups", "names", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._compiled, self.groups, self.names = _compiled(text)

    def __reduce__(self) -> tuple[type[JavaPattern], tuple[str]]:
        """Travels as its text, so that it is compiled where it arrives."""
        return JavaPattern, (self.text,)

    def __repr__(self) -> str:
        return f"JavaPattern({self.text!r})"

    def matches(self, text: str) -> bool:
        """
        Tells whether the whole of ``text`` matches (Java: ``Matcher.matches``).

        Other threads run meanwhile.

        Raises:
            PatternTimeout: that takes longer than a second.
        """
        try:
            found = self._compiled.fullmatch(text, concurrent=True, timeout=MATCH_WITHIN_S)
        except TimeoutError:
            raise self._too_slow(text) from None
        return found is not None

    def find(self, text: str) -> bool:
        """
        Tells whether some part of ``text`` matches (Java: ``Matcher.find``).

        Raises:
            PatternTimeout: that takes longer than a second.
        """
        return self.first(text) is not None

    def first(self, text: str) -> Match | None:
        """
        The first part of ``text`` that matches.

        Raises:
            PatternTimeout: that takes longer than a second.
        """
        try:
            return self._compiled.search(text, concurrent=True, timeout=MATCH_WITHIN_S)
        except TimeoutError:
            raise self._too_slow(text) from None

    def _too_slow(self, text: str) -> PatternTimeout:
        return PatternTimeout(
            f"Pattern '{self.text[:_SHOWN]}' could not be matched against '{text[:_SHOWN]}' within"
            f" {MATCH_WITHIN_S:g} s: write it without alternatives and repetitions that match the"
            " same, such as (a|aa)+",
            value=self.text,
        )
