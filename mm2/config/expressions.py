"""
Expressions of config providers in values, ``${provider:path:key}``, and the values they stand for.

What providers have answered in this process is remembered here, so that every way by which text
leaves it (answers, logs, status and progress records, errors) shows the expression instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_LEAST: Final = 4
_MOST_DIGITS: Final = 7
_WORDS: Final = frozenset({"true", "false", "null", "none"})


@dataclass(frozen=True, slots=True)
class Expression:
    """
    One expression of a text.

    Attributes:
        start: where it begins in the text.
        end: the place after its closing brace.
        text: as it is written.
        provider: the provider's name.
        path: empty if there is none.
        key: what the provider is asked for.
    """

    start: int
    end: int
    text: str
    provider: str
    path: str
    key: str


def expressions(text: str) -> Iterator[Expression]:
    """The expressions of a text in their order, found in one pass (C059)."""
    start = text.find("${")
    while start >= 0 and (end := text.find("}", start)) >= 0:
        # As Java's pattern reads it: the first two colons separate, others belong to the key.
        parts = text[start + 2 : end].split(":", 2)
        end += 1
        if len(parts) > 1:
            path = parts[1] if len(parts) > 2 else ""  # noqa: PLR2004 - provider, path, key
            yield Expression(start, end, text[start:end], parts[0], path, parts[-1])
        start = text.find("${", end)


def is_of_expressions(text: str) -> bool:
    """Whether a text is one expression or several, with nothing beside them."""
    at = 0
    for each in expressions(text):
        if each.start != at:
            return False
        at = each.end
    return 0 < at == len(text)


class Resolved:
    """
    The values that expressions stand for, which are hidden from readers of text.

    Values that would make every text unreadable are not hidden: those of fewer than four
    characters, words such as "true", and numbers of up to seven digits. Mistakes in a value that
    was written as an expression do not quote it at all (``mm2.config.redact.as_written``).
    """

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    def remember(self, value: str, expression: str) -> None:
        """Has a value shown as its expression from now on."""
        if value not in self._values:
            new = {part: expression for part in _parts(value) if _is_hidden(part)}
            self.take({value: expression, **new})

    def take(self, values: Mapping[str, str]) -> None:
        """Remembers what another process has resolved."""
        self._values = {**values, **self._values}
        self._pattern = None

    def hide(self, text: str) -> str:
        """The text with expressions in the place of what they stand for."""
        if not self._values:
            return text
        if self._pattern is None:
            self._pattern = _any_of(filter(_is_hidden, self._values))
        return self._pattern.sub(lambda found: self._values[found[0]], text)

    def within(self, texts: Iterable[str]) -> dict[str, str]:
        """The values that any of the texts holds."""
        texts = list(texts)
        return {
            value: expression
            for value, expression in self._values.items()
            if _is_hidden(value) and any(value in text for text in texts)
        }

    def clear(self) -> None:
        """Forgets everything."""
        self._values, self._pattern = {}, None


RESOLVED: Final = Resolved()
"""What this process has resolved."""


def hide(text: str) -> str:
    """A text of this process, with expressions in the place of what they stand for."""
    return RESOLVED.hide(text)


def hidden_in(document: object) -> object:
    """A document of texts, lists and mappings, of which each text is hidden as by ``hide``."""
    match document:
        case str():
            return hide(document)
        case Mapping():
            return {key: hidden_in(value) for key, value in document.items()}
        case list() | tuple():
            return [hidden_in(each) for each in document]
        case _:
            return document


def _is_hidden(value: str) -> bool:
    if len(value) < _LEAST or value.lower() in _WORDS:
        return False
    return not (value.isdecimal() and len(value) <= _MOST_DIGITS)


def _parts(value: str) -> set[str]:
    """A value, its items and lines, and how they are written within quotation marks."""
    plain = {value, *value.split(","), *value.splitlines()}
    plain |= {part.strip() for part in plain}
    return plain | {repr(each)[1:-1] for each in plain} | {json.dumps(each)[1:-1] for each in plain}


def _any_of(values: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(values, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
