"""
How much may be given to a node or worker that runs.

Values may be patterns, which take a second to compile for each 32 KiB, while there are leases to
renew. A file may have longer ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mm2.config.credentials import is_of_connection
from mm2.errors import ConfigError

MOST_CHARACTERS: Final = 32 * 1024
"""Of one value."""

MOST_TOGETHER: Final = 64 * 1024
"""Of all values of a flow, or of a connector."""

CHANGE_FILE: Final = "change the file"
READ_FROM_FILE: Final = "have a config provider read the list from a file"
"""What to do about values of flows, and of connectors."""


def too_long(
    values: Mapping[str, str | None], instead: str, *, most_together: float = MOST_TOGETHER
) -> dict[str, ConfigError]:
    """
    Values that are not taken, by key; of those that are too long together, the longest.

    Certificates and other keys of connections are as long as they are.

    Args:
        instead: where a longer list may stand.
    """
    lengths = {
        key: len(value)
        for key, value in values.items()
        if value is not None and not is_of_connection(key)
    }
    advice = f"write patterns that stand for many names, such as orders.*, or {instead}"
    found: dict[str, ConfigError] = {}
    together = 0
    for key in sorted(lengths, key=lambda key: (lengths[key], key)):
        together += lengths[key]
        message = f"{key} has {lengths[key]} characters, and at most {MOST_CHARACTERS} are taken"
        if lengths[key] <= MOST_CHARACTERS:
            message = (
                f"{key} has {lengths[key]} characters, which makes {together} with what is not"
                f" longer, and at most {most_together} are taken together"
            )
        if lengths[key] > MOST_CHARACTERS or together > most_together:
            found[key] = ConfigError(f"{message}: {advice}", key=key)
    return found
