"""What a match is replaced by, as Java's ``Matcher.replaceFirst`` reads it."""

from __future__ import annotations

import re
from typing import Final

from mm2.core.java_regex.pattern import JavaPattern
from mm2.errors import ConfigError

_NAMED: Final = re.compile(r"\{([a-zA-Z][a-zA-Z0-9]*)\}")


class Replacement:
    r"""
    A text in which ``$1`` and ``${name}`` stand for groups, and ``\`` takes the next as it is.

    Raises:
        ConfigError: Java would fail when it replaces: there is no such group, or nothing follows.
    """

    __slots__ = ("_parts", "_pattern", "text")

    def __init__(self, pattern: JavaPattern, text: str) -> None:
        self.text = text
        self._pattern = pattern
        self._parts = tuple(self._read(text))

    def __reduce__(self) -> tuple[type[Replacement], tuple[JavaPattern, str]]:
        """Travels as its texts."""
        return Replacement, (self._pattern, self.text)

    @property
    def constant(self) -> str | None:
        """What it always is; None if that depends on groups."""
        texts = [part for part in self._parts if isinstance(part, str)]
        return "".join(texts) if len(texts) == len(self._parts) else None

    def replace_first(self, text: str) -> str:
        """
        The text with the first part that the pattern is found in replaced.

        Raises:
            PatternTimeout: the search takes longer than a second.
        """
        found = self._pattern.first(text)
        if found is None:
            return text
        parts = (part if isinstance(part, str) else found.group(part) or "" for part in self._parts)
        return f"{text[: found.start()]}{''.join(parts)}{text[found.end() :]}"

    def _read(self, text: str) -> list[str | int]:
        parts: list[str | int] = []
        at = 0
        while at < len(text):
            if text[at] == "\\":
                parts.append(self._taken(text, at + 1))
                at += 2
            elif text[at] == "$":
                group, at = self._group(text, at + 1)
                parts.append(group)
            else:
                parts.append(text[at])
                at += 1
        return parts

    def _taken(self, text: str, at: int) -> str:
        if at == len(text):
            raise self._wrong("a character has to follow the last \\")
        return text[at]

    def _group(self, text: str, at: int) -> tuple[int, int]:
        """The number of a group, and where the text goes on."""
        if named := _NAMED.match(text, at):
            if named[1] not in self._pattern.names:
                raise self._wrong(f"the pattern has no group {named[1]}")
            return self._pattern.names[named[1]], named.end()
        digits = re.match("[0-9]+", text[at:])
        if digits is None:
            raise self._wrong("a group has to follow $: write $1 or ${name}, or \\$ for $ itself")
        # More digits are read for as long as there is such a group.
        length = 1
        while length < len(digits[0]) and int(digits[0][: length + 1]) <= self._pattern.groups:
            length += 1
        if (group := int(digits[0][:length])) > self._pattern.groups:
            raise self._wrong(f"the pattern has no group {group}")
        return group, at + length

    def _wrong(self, reason: str) -> ConfigError:
        return ConfigError(f"Replacement '{self.text}': {reason}", value=self.text)
