"""Sets in brackets: ``[a-z&&[^b]]`` and the like, as Java's ``Pattern.clazz`` reads them."""

from __future__ import annotations

from mm2.core.java_regex import sets
from mm2.core.java_regex.escapes import read_escape
from mm2.core.java_regex.folding import ascii_cases, unicode_cases
from mm2.core.java_regex.reader import Mode, Reader

_VERTICAL_TAB = 11


def read_class(reader: Reader) -> str:
    """Reads a set, of which the opening bracket has been read, with its closing bracket."""
    reader.peek()
    negated = reader.is_behind("[") and reader.take_if("^")
    members = _read_members(reader)
    reader.take()
    return sets.complement(members) if negated else members


def _read_members(reader: Reader) -> str:
    """Reads up to the closing bracket, and stays in front of it."""
    found: str | None = None
    while True:
        following = reader.peek()
        if following == "]" and found is not None:
            return found
        if not following:
            reader.fail("Unclosed character class")
        if following == "&" and reader.peek_raw(1) == "&":
            found = _intersect(found, reader)
        else:
            found = _join(found, _read_member(reader))


def _read_member(reader: Reader) -> str:
    if reader.take_if("["):
        return read_class(reader)
    return _read_range(reader)


def _intersect(left: str | None, reader: Reader) -> str:
    """Reads what follows ``&&``: sets in brackets, or all up to the end as one set."""
    reader.take()
    reader.take()
    right: str | None = None
    while reader.peek() not in {"]", "&", ""}:
        bracketed = reader.take_if("[")
        right = _join(right, read_class(reader) if bracketed else _read_members(reader))
    if reader.peek() == "&" and reader.peek_raw(1) != "&":
        # Java then adds what follows to the left side of the intersection as well.
        reader.fail("A single '&' after an intersection with a set is not supported")
    if right is None:
        # Java takes [a&&] to mean different things, depending on what stands in front.
        reader.fail("An intersection with nothing is not supported")
    return right if left is None else sets.intersection(left, right)


def _read_range(reader: Reader) -> str:
    first = _read_end(reader, starts=True)
    if isinstance(first, str):
        return first
    if reader.peek() != "-" or reader.peek_raw(1) in {"[", "]"}:
        return cased(reader.mode, first, first)
    reader.take()
    last = _read_end(reader, starts=False)
    if isinstance(last, str) or last < first:
        reader.fail("Illegal character range")
    return cased(reader.mode, first, last)


def _read_end(reader: Reader, *, starts: bool) -> int | str:
    character = reader.take()
    if not character:
        reader.fail("Unclosed character class")
    if character != "\\":
        return ord(character)
    if reader.peek_raw() == "v" and (not starts or reader.peek_raw(1) == "-"):
        reader.take_raw()
        return _VERTICAL_TAB
    return read_escape(reader)


def cased(mode: Mode, first: int, last: int) -> str:
    """Returns the characters from ``first`` to ``last``, and their other cases if these count."""
    if Mode.CASE_INSENSITIVE not in mode:
        return sets.span(first, last)
    return (unicode_cases if Mode.UNICODE_CASE in mode else ascii_cases)(first, last)


def _join(left: str | None, right: str) -> str:
    return right if left is None else sets.union(left, right)
