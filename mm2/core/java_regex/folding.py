"""Which characters count as the same where cases make no difference."""

from __future__ import annotations

from functools import cache
from typing import Final

from mm2.core.java_regex import sets

_NO_CASES_FROM: Final = 0x20000
"""Only ideographs and unassigned characters from here on."""


def ascii_cases(first: int, last: int) -> str:
    """Returns a span and the other case of its ASCII letters, as the flag ``i`` alone does."""
    letters = {code ^ 0x20 for code in range(first, min(last, 0x7F) + 1) if chr(code).isalpha()}
    return _with(first, last, letters)


def unicode_cases(first: int, last: int) -> str:
    """
    Returns a span and all that Java finds in it with the flags ``i`` and ``u``.

    Java looks for a character, for its upper case, and for the lower case of that, each as one
    character; so the Turkish letters i are all the same to it. Of a single character it compares
    only the last of these.
    """
    span = range(first, last + 1)
    if first == last:
        folded = _fold(first)
        return _with(first, last, {code for code, _, lower in _cased() if lower == folded})
    return _with(first, last, {code for code, up, low in _cased() if up in span or low in span})


@cache
def _cased() -> tuple[tuple[int, int, int], ...]:
    """All characters that have cases, with their upper case and the lower case of that."""
    characters = map(chr, range(_NO_CASES_FROM))
    cased = (ord(each) for each in characters if each.upper() != each or each.lower() != each)
    return tuple((code, _upper(code), _fold(code)) for code in cased)


def _upper(code: int) -> int:
    # Where the upper case is more than one character, the title case may be the single one.
    for mapped in (chr(code).upper(), chr(code).title()):
        if len(mapped) == 1:
            return ord(mapped)
    return code


def _fold(code: int) -> int:
    upper = _upper(code)
    lower = chr(upper).lower()
    # The dotted capital I is the only one whose lower case is longer; in Java it is a plain i.
    return ord(lower[0])


def _with(first: int, last: int, others: set[int]) -> str:
    added = "".join(sets.literal(code) for code in sorted(others) if not first <= code <= last)
    return f"[{sets.literal(first)}-{sets.literal(last)}{added}]"
