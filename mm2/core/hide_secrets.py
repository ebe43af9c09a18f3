r"""
Finds secrets in texts, however they are quoted or escaped there, and shows names in their place.

A secret that could be part of other words is found as a word alone, so that "pas" does not garble
"password": no letter or digit stands beside it, unless that ends an escape such as "\n" or "%3D".
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, quote_plus

_LONG: Final = 6
"""From here on, a mixture of letters, digits and punctuation is in no ordinary word."""
_LONG_WORD: Final = 12
"""From here on, letters alone or digits alone are not."""
_LEAST_PART: Final = 4
_MOST_DIGITS: Final = 7
_COMMON: Final = frozenset({"true", "false", "null", "none"})
_LETTER: Final = r"[^\W_]"
_HEX: Final = "[0-9A-Fa-f]"
_BEGIN: Final = "|".join(
    (
        rf"(?<!{_LETTER})",
        *(
            rf"(?<={backslash}{escape})"
            for backslash in (r"\\", "%5[Cc]")
            for escape in ("[abfnrtv0]", f"x{_HEX}{{2}}", f"u{_HEX}{{4}}", f"U{_HEX}{{8}}")
        ),
        rf"(?<=%{_HEX}{{2}})",
        rf"(?<=%25{_HEX}{{2}})",
        rf"(?<=={_HEX}{{2}})",
        r"(?<=\\[0-7]{3})",
        # A terminal's colours, also where the escape before them is written in another way.
        *(rf"(?<=\[{codes}m)" for codes in (r"\d", r"\d\d", r"\d;\d\d", r"\d\d;\d\d")),
    )
)
_END: Final = f"(?!{_LETTER})"


@dataclass(frozen=True, slots=True)
class Secret:
    """
    A text that is not to be seen.

    Attributes:
        begins: whether it counts only where no letter or digit stands before it.
        ends: the same of what stands behind it.
    """

    text: str
    shown: str
    begins: bool
    ends: bool


def secrets_of(value: str, shown: str, *, within_words: bool = False) -> Iterator[Secret]:
    """
    A value, its items and its lines, in all ways in which they are written.

    Args:
        within_words: whether letters and digits beside it are no reason to show it.
    """
    parts = {part.strip() for part in (*value.split(","), *value.splitlines())}
    for each in {value, value.strip(), *filter(is_recognizable, parts)} - {""}:
        is_word = not within_words and _may_be_part_of_words(each)
        begins, ends = is_word and each[0].isalnum(), is_word and each[-1].isalnum()
        for text in _spellings(each):
            yield Secret(text, shown, begins, ends)


def is_recognizable(value: str) -> bool:
    """Whether a value is not so short, or so common, that any text may have it by chance."""
    if len(value) < _LEAST_PART or value.lower() in _COMMON:
        return False
    return not (value.isdecimal() and len(value) <= _MOST_DIGITS)


class Screen:
    """Hides secrets in texts; of several at one place, the longest."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self._known = sorted(secrets, key=lambda each: len(each.text), reverse=True)
        self._names = sorted({each.shown for each in self._known}, key=len, reverse=True)

    def hide(self, text: str) -> str:
        """The text without secrets."""
        # There may be hundreds, and hardly ever is one in a text.
        known = [each for each in self._known if each.text in text]
        if not known:
            return text
        # What is shown is found, too, so that a text may be hidden twice.
        names = [name for name in self._names if name in text]
        shown = {name: name for name in names} | {each.text: each.shown for each in known}
        ways = [*map(re.escape, names), *map(_way, known)]
        pieces, at = [], 0
        # Looked for at each place, because one may begin within another.
        for found in re.finditer(f"(?=({'|'.join(ways)}))", text):
            start, end = found.span(1)
            if start >= at:
                pieces += [text[at:start], shown[found[1]]]
            at = max(at, end)
        return "".join([*pieces, text[at:]])


def _may_be_part_of_words(value: str) -> bool:
    most = _LONG_WORD if value.isalpha() or value.isdigit() else _LONG
    return len(value) < most


def _spellings(text: str) -> set[str]:
    """As it is, and as JSON, Python, JAAS, URLs and HTML write it, also one within another."""
    found = {text}
    for _ in range(2):
        found |= {spelled for each in found for spelled in _spelled(each)}
    return found


def _spelled(text: str) -> Iterator[str]:
    yield repr(text)[1:-1]
    # Beside a quotation mark, Python escapes the other kind.
    yield repr('"' + text)[2:-1]
    data = text.encode(errors="surrogatepass")
    yield repr(data)[2:-1]
    yield repr(b'"' + data)[3:-1]
    yield text.replace("\\", "\\\\").replace('"', '\\"')
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield quote(text, safe="", errors="surrogatepass")
    yield quote_plus(text, errors="surrogatepass")
    yield html.escape(text)


def _way(secret: Secret) -> str:
    begin, end = f"(?:{_BEGIN})" * secret.begins, _END * secret.ends
    return f"{begin}{re.escape(secret.text)}{end}"
