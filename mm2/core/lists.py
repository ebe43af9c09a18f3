"""Lists as Kafka's configuration writes them: items between commas."""

from __future__ import annotations

from typing import Final

from mm2.errors import ConfigError

_UP_TO_BLANK: Final = "".join(map(chr, range(0x21)))
_BLANKS: Final = " \t\n\x0b\f\r"


def trim(text: str) -> str:
    """Takes from both ends what Java's ``String.trim`` takes: everything up to the blank."""
    return text.strip(_UP_TO_BLANK)


def parse_list(key: str, text: str) -> tuple[str, ...]:
    """
    Takes a list apart as Kafka 4.3 does (KIP-1161, C454).

    Blank text is the empty list, and of equal items the first stays.

    Raises:
        ConfigError: an item is empty.
    """
    trimmed = trim(text)
    if not trimmed:
        return ()
    items = [item.strip(_BLANKS) for item in trimmed.split(",")]
    if "" in items:
        raise ConfigError(f"Configuration '{key}' values must not be empty.", key=key, value=text)
    return tuple(dict.fromkeys(items))
