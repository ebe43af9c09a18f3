"""Values that clients are not shown, and send back as they saw them."""

from __future__ import annotations

from collections.abc import Mapping

from mm2.config.redact import HIDDEN, shown
from mm2.errors import ConfigError, ConfigErrors


def with_secrets(config: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """
    Clients send back what they were shown; what was hidden from them stays as it is.

    Raises:
        ConfigErrors: something hidden stands where nothing was shown like that.
    """
    found = {
        key: before[key] if key in before and value == shown(key, before[key]) else value
        for key, value in config.items()
    }
    if strange := [key for key in found if HIDDEN in found[key] and found[key] != before.get(key)]:
        message = f"has {HIDDEN} in it, which stands for nothing here: write the value"
        raise ConfigErrors([ConfigError(f"{key} {message}", key=key) for key in strange])
    return found
