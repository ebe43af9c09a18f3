"""What callers of the client library may ask for."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import TypeAlias

from mm2.core.java_regex import JavaPattern
from mm2.core.model import GroupId
from mm2.errors import InvalidArgument

GroupPattern: TypeAlias = JavaPattern | re.Pattern[str]
"""Of group ids, matched as a whole; in Java's syntax or in Python's."""


def group_predicate(group: str | GroupPattern | None) -> Callable[[GroupId], bool]:
    """Which groups an id means, or a pattern of ids (C468); None for all."""
    match group:
        case None:
            return lambda _: True
        case str():
            return lambda each: each == group
        case JavaPattern():
            return group.matches
        case _:
            return lambda each: group.fullmatch(each) is not None


def check_arguments(**arguments: object) -> None:
    """
    Checks what Java checks, and that a time is not negative (C466).

    Raises:
        InvalidArgument: names the argument.
    """
    for name, value in arguments.items():
        if value is None:
            raise InvalidArgument(f"{name} is missing: it must not be None")
        if isinstance(value, timedelta) and value < timedelta(0):
            raise InvalidArgument(f"{name} is negative: {value}")
