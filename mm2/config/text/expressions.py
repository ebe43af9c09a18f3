"""
Expressions of config providers in values, ``${provider:path:key}``, and the values they stand for.

What providers have answered in this process is remembered here, so that every way by which text
leaves it (answers, logs, status and progress records, errors) shows the expression instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from mm2.core.hide_secrets import Screen, Secret, is_recognizable, secrets_of


@dataclass(frozen=True, slots=True)
class Expression:
    """
    One expression of a text.

    Attributes:
        end: the place after its closing brace.
        path: empty if there is none.
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


def is_glued(text: str, found: Expression) -> bool:
    """Whether a value would stand beside letters, digits or another value."""
    before, after = text[: found.start][-1:], text[found.end :][:1]
    return before.isalnum() or before == "}" or after.isalnum() or after == "$"


def open_expressions(raw: Mapping[str, str], is_open: Callable[[str], bool]) -> frozenset[str]:
    """
    The expressions whose values may be shown: no key has them whose value may not.

    Args:
        raw: keys and values as those have written them who may read all secrets.
    """
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for key, value in raw.items():
        if texts := {each.text for each in expressions(value)}:
            # A password stands before "@" in addresses.
            found[is_open(key) and "@" not in value] |= texts
    return frozenset(found[True] - found[False])


class Resolved:
    """
    The values that expressions stand for, which are hidden from readers of text.

    Those of secret keys are hidden however short they are, others unless any text may have them by
    chance: words such as "true", and short numbers. Mistakes in a value that was written as an
    expression do not quote it at all (``mm2.config.text.redact.as_written``).
    """

    def __init__(self) -> None:
        self._secrets: dict[str, Secret] = {}
        self._known: set[tuple[str, bool]] = set()
        self._suspects: set[str] = set()
        self._screen: Screen | None = None

    def remember(
        self, value: str, expression: str, *, is_secret: bool = True, within_words: bool = False
    ) -> None:
        """
        Has a value shown as its expression from now on.

        Args:
            within_words: whether letters and digits beside it are no reason to show it.
        """
        is_known = (value, within_words) in self._known
        if not is_known and value.strip() and (is_secret or is_recognizable(value.strip())):
            self._known.add((value, within_words))
            self.take(secrets_of(value, expression, within_words=within_words))

    def take(self, secrets: Iterable[Secret]) -> None:
        """Remembers what another process has resolved; of two rules the stricter one."""
        for new in secrets:
            old = self._secrets.get(new.text, new)
            both = replace(old, begins=old.begins and new.begins, ends=old.ends and new.ends)
            if self._secrets.get(new.text) != both:
                self._secrets[new.text], self._screen = both, None

    def suspect(self, text: str) -> None:
        """Has what the expressions of a text stand for hidden, although a file may show it."""
        self._suspects |= {each.text for each in expressions(text)}

    def is_suspect(self, expression: str) -> bool:
        """Whether somebody whom the file does not know has asked for it."""
        return expression in self._suspects

    def hide(self, text: str) -> str:
        """The text with expressions in the place of what they stand for."""
        if self._screen is None:
            self._screen = Screen(self._secrets.values())
        return self._screen.hide(text)

    def within(self, texts: Iterable[str]) -> tuple[Secret, ...]:
        """What is to be hidden of the texts, however it is written."""
        texts, known = list(texts), self._secrets.values()
        shown = {each.shown for each in known if any(each.text in text for text in texts)}
        return tuple(each for each in known if each.shown in shown)

    def clear(self) -> None:
        """Forgets everything."""
        self._secrets.clear()
        self._known.clear()
        self._suspects.clear()
        self._screen = None


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
