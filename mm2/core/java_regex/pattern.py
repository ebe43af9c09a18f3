"""A compiled Java pattern."""

from __future__ import annotations

from typing import Protocol

import regex  # type: ignore[import-untyped]  # publishes no types


class _Compiled(Protocol):
    def fullmatch(self, string: str) -> object | None: ...

    def search(self, string: str) -> object | None: ...


class JavaPattern:
    """A pattern in the syntax of ``java.util.regex.Pattern``."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._compiled: _Compiled = regex.compile(text, regex.VERSION1)

    def matches(self, text: str) -> bool:
        """Tells whether the whole of ``text`` matches (Java: ``Matcher.matches``)."""
        return self._compiled.fullmatch(text) is not None

    def find(self, text: str) -> bool:
        """Tells whether some part of ``text`` matches (Java: ``Matcher.find``)."""
        return self._compiled.search(text) is not None
