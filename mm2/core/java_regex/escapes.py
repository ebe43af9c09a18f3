"""Escapes: a backslash and what follows it, where the meaning is a character or a set."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from typing import Final

from mm2.core.java_regex import sets
from mm2.core.java_regex.names import named_set
from mm2.core.java_regex.reader import Mode, Reader, is_digit

_LARGEST: Final = 0x10FFFF
_HIGH_SURROGATES: Final = range(0xD800, 0xDC00)
_LOW_SURROGATES: Final = range(0xDC00, 0xE000)

_CONTROLS: Final[Mapping[str, int]] = {"a": 7, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9}

_SETS: Final[Mapping[str, tuple[str, str]]] = {
    "d": (sets.DIGIT, sets.UNICODE_DIGIT),
    "w": (sets.WORD, sets.UNICODE_WORD),
    "s": (sets.SPACE, sets.UNICODE_SPACE),
    "h": (sets.HORIZONTAL, sets.HORIZONTAL),
    "v": (sets.VERTICAL, sets.VERTICAL),
}


def read_escape(reader: Reader) -> int | str:
    """Reads what follows a backslash: a character's number, or a set."""
    letter = reader.take_raw()
    if letter in _CONTROLS:
        return _CONTROLS[letter]
    if letter in _NUMBERED:
        return _NUMBERED[letter](reader)
    if letter and letter in "pP":
        return _read_property(reader, complement=letter == "P")
    if letter.lower() in _SETS:
        plain, unicode = _SETS[letter.lower()]
        found = unicode if Mode.UNICODE_CHARACTER_CLASS in reader.mode else plain
        return found if letter.islower() else sets.complement(found)
    if not letter or (letter.isascii() and letter.isalnum()):
        reader.fail("Illegal/unsupported escape sequence")
    return ord(letter)


def _read_octal(reader: Reader) -> int:
    """Reads one to three octal digits; three only up to 377."""
    digits = ""
    while len(digits) < (3 if digits < "4" else 2) and is_digit(reader.peek(), 8):
        digits += reader.take()
    if not digits:
        reader.fail("Illegal octal escape sequence")
    return int(digits, 8)


def _read_hexadecimal(reader: Reader) -> int:
    """Reads two hexadecimal digits, or any number of them between braces."""
    if reader.peek() == "{":
        return _read_braced_hexadecimal(reader)
    return _read_digits(reader, 2, "Illegal hexadecimal escape sequence")


def _read_braced_hexadecimal(reader: Reader) -> int:
    reader.take()
    code, count = 0, 0
    while is_digit(reader.peek(), 16):
        code = code * 16 + int(reader.take(), 16)
        count += 1
        if code > _LARGEST:
            reader.fail("Hexadecimal codepoint is too big")
    if not count:
        reader.fail("Illegal hexadecimal escape sequence")
    if not reader.take_if("}"):
        reader.fail("Unclosed hexadecimal escape sequence")
    return code


def _read_unicode(reader: Reader) -> int:
    """Reads four hexadecimal digits, or two such escapes that are one character in UTF-16."""
    code = _read_digits(reader, 4, "Illegal Unicode escape sequence")
    ahead = "".join(reader.peek_raw(index) for index in range(6))
    if code not in _HIGH_SURROGATES or ahead[:2] != "\\u":
        return code
    if len(ahead) < len("\\uDC00") or not all(is_digit(each, 16) for each in ahead[2:]):
        return code
    low = int(ahead.removeprefix("\\u"), 16)
    if low not in _LOW_SURROGATES:
        return code
    for _ in ahead:
        reader.take_raw()
    high_bits = (code - _HIGH_SURROGATES.start) << 10
    return 0x10000 + high_bits + low - _LOW_SURROGATES.start


def _read_digits(reader: Reader, count: int, reason: str) -> int:
    code = 0
    for _ in range(count):
        if not is_digit(reader.peek(), 16):
            reader.fail(reason)
        code = code * 16 + int(reader.take(), 16)
    return code


def _read_control(reader: Reader) -> int:
    if not reader.peek():
        reader.fail("Illegal control escape sequence")
    return ord(reader.take()) ^ 64


def _read_name(reader: Reader) -> int:
    if not reader.take_if("{"):
        reader.fail("Illegal character name escape sequence")
    name = _read_braces(reader, "Unclosed character name escape sequence")
    try:
        return ord(unicodedata.lookup(name.strip()))
    except (KeyError, TypeError):
        reader.fail(f"Unknown character name [{name}]")


def _read_property(reader: Reader, *, complement: bool) -> str:
    if reader.take_if("{"):
        name = _read_braces(reader, "Unclosed character family")
    else:
        name = reader.take()
    if not name:
        reader.fail("Empty character family")
    unicode = Mode.UNICODE_CHARACTER_CLASS in reader.mode
    found = named_set(name, unicode=unicode, any_case=Mode.CASE_INSENSITIVE in reader.mode)
    if found is None:
        reader.fail(f"Unknown character property name {{{name}}}")
    return sets.complement(found) if complement else found


def _read_braces(reader: Reader, unclosed: str) -> str:
    name = ""
    while not reader.take_if("}"):
        if not reader.peek():
            reader.fail(unclosed)
        name += reader.take()
    return name


_NUMBERED: Final[Mapping[str, Callable[[Reader], int]]] = {
    "0": _read_octal,
    "c": _read_control,
    "u": _read_unicode,
    "x": _read_hexadecimal,
    "N": _read_name,
}
