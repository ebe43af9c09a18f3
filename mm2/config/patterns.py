"""Regular expressions in values: they mean what ``java.util.regex`` means by them."""

from __future__ import annotations

from collections.abc import Callable

import regex

from mm2.errors import ConfigError


def java_pattern(text: str) -> Callable[[str], bool]:
    """
    Compiles a pattern into the question whether a whole text matches it.

    Raises:
        ConfigError: Java would not compile it.
    """
    try:
        compiled = regex.compile(text, regex.VERSION1)
    except regex.error as error:
        raise ConfigError(f"'{text}' is not a regular expression: {error}", value=text) from error
    return lambda candidate: compiled.fullmatch(candidate) is not None
