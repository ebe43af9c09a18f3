"""Writes properties so that Java, and we, read them as they were."""

from __future__ import annotations

from typing import Final

import javaproperties

_LAST_PRINTED: Final = "~"


def property_line(key: str, value: str) -> str:
    """A line of a properties file, without its end."""
    return f"{_key(key)} = {_value(value)}"


def _key(key: str) -> str:
    return "".join(javaproperties.escape(each) for each in key)


def _value(value: str) -> str:
    """Signs that end a key may stand in a value; blanks that it begins with would get lost."""
    text = "".join(map(_character, value))
    return f"\\{text}" if text.startswith(" ") else text


def _character(character: str) -> str:
    if character == "\\" or not " " <= character <= _LAST_PRINTED:
        return javaproperties.escape(character)
    return character
