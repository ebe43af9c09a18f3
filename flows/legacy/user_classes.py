"""Creates objects of classes that flags name; errors name the flag."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mm2.errors import ConfigError, Mm2Error

T = TypeVar("T")


def created(flag: str, path: str, create: Callable[[], T]) -> T:
    """
    What ``create`` makes of the class under an import path.

    Raises:
        ConfigError: the class raises something, whatever it is; names flag, class and reason.
    """
    try:
        return create()
    except (Exception, SystemExit) as error:
        reason = str(error) if isinstance(error, Mm2Error) else repr(error)
        message = f"{flag} {path} cannot be used: {reason}"
        raise ConfigError(message, key=flag, value=path) from error
