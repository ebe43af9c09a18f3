"""Which groups a command is about."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

import click

from mm2.core.checks import Check
from mm2.core.java_regex import JavaPattern
from mm2.core.model import GroupId
from mm2.errors import ConfigError

GROUPS: Final = click.option(
    "--group", "groups", multiple=True, help="Only this group; may be repeated."
)
PATTERN: Final = click.option(
    "--pattern", help="Only groups whose whole id matches, in the syntax of Java's patterns."
)


def group_problems(groups: Collection[str], pattern: str | None) -> Iterable[str]:
    """What is wrong with the two options."""
    if groups and pattern is not None:
        yield "Give --group or --pattern, not both."
    if pattern is not None:
        try:
            JavaPattern(pattern)
        except ConfigError as error:
            yield f"--pattern: {error}"


def chosen(
    groups: Collection[str], pattern: str | None, default: Callable[[GroupId], bool]
) -> Callable[[GroupId], bool]:
    """Which groups are meant; one that is named need not be one of the default."""
    if groups:
        return lambda group: group in groups
    if pattern is None:
        return default
    compiled = JavaPattern(pattern)
    return lambda group: default(group) and compiled.matches(group)


def unknown_groups(groups: Iterable[str], found: Collection[GroupId]) -> list[Check]:
    """A no-go for each group that is named and not found."""
    return [
        Check.no_go("group", f"group {group}", "nothing is known of it")
        for group in groups
        if group not in found
    ]
