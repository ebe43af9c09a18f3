"""A compiled Java pattern."""

from __future__ import annotations

from typing import Protocol

import regex  # type: ignore[import-untyped]  # publishes no types

from mm2.core.java_regex.parser import Parser
from mm2.errors import ConfigError


class _Compiled(Protocol):
    def fullmatch(self, string: str) -> object | None: ...

    def search(self, string: str) -> object | None: ...


class JavaPattern:
    """
    A pattern in the syntax of ``java.util.regex.Pattern``, as Java 17 reads it.

    Args:
        text: the pattern.

    Raises:
        ConfigError: Java would reject it, or it uses what has no counterpart in Python: a reference
            to the group around it, or boundaries of graphemes.
    """

    __slots__ = ("_compiled", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            translated = Parser(text).translate()
            self._compiled: _Compiled = regex.compile(translated, regex.VERSION1)
        except (regex.error, RecursionError) as problem:
            reason = f"Pattern '{text}' is not supported: {problem}"
            raise ConfigError(reason, value=text) from problem

    def __reduce__(self) -> tuple[type[JavaPattern], tuple[str]]:
        """Travels as its text, so that it is compiled where it arrives."""
        return JavaPattern, (self.text,)

    def __repr__(self) -> str:
        return f"JavaPattern({self.text!r})"

    def matches(self, text: str) -> bool:
        """Tells whether the whole of ``text`` matches (Java: ``Matcher.matches``)."""
        return self._compiled.fullmatch(text) is not None

    def find(self, text: str) -> bool:
        """Tells whether some part of ``text`` matches (Java: ``Matcher.find``)."""
        return self._compiled.search(text) is not None
