"""
What a connector's new configuration means for its flow, whose file stays as it is.

Clients of Connect read a whole configuration, change some of it and send all of it back. What
differs becomes an alteration of the flow; secrets, which clients cannot see, stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from mm2.config.keys.keys_top import REST_PROVIDERS
from mm2.config.text.expressions import expressions
from mm2.config.text.redact import HIDDEN, shown
from mm2.errors import ConfigError, ConfigErrors

_FIXED: Final = ("name", "connector.class", "source.cluster.alias", "target.cluster.alias")

_NOT_TAKEN: Final = (
    "expressions of config providers and their keys are not taken over REST: write the value,"
    f" change the file, or have the file say {REST_PROVIDERS} = true"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigDiff:
    """
    How a configuration differs from the present one.

    Attributes:
        changes: new values by key; None is no value.
        resets: keys that are to be as the file says again.
    """

    changes: Mapping[str, str | None]
    resets: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.changes or self.resets)


def replace_diff(
    present: Mapping[str, str], asked: Mapping[str, str], altered: Collection[str]
) -> ConfigDiff:
    """
    What a whole configuration asks for.

    Args:
        asked: as it is to be. What is left out is as the file says.

    Raises:
        ConfigErrors: it would change what a connector is, or has hidden values that are not known.
    """
    return ConfigDiff(
        changes=_changes(present, asked),
        resets=frozenset(key for key in altered if key in present and key not in asked),
    )


def patch_diff(present: Mapping[str, str], asked: Mapping[str, str | None]) -> ConfigDiff:
    """
    What a change of some keys asks for (KIP-477).

    Args:
        asked: new values; None is no value.

    Raises:
        ConfigErrors: as ``replace_diff``.
    """
    return ConfigDiff(changes=_changes(present, asked))


def _changes(present: Mapping[str, str], asked: Mapping[str, str | None]) -> dict[str, str | None]:
    changes = {key: value for key, value in asked.items() if value != present.get(key)}
    if problems := list(_problems(present, changes)):
        raise ConfigErrors(problems)
    return changes


def _problems(
    present: Mapping[str, str], changes: Mapping[str, str | None]
) -> Iterator[ConfigError]:
    for key, value in changes.items():
        if key in _FIXED:
            message = f"{key} is {present.get(key)}, and cannot be changed"
            yield ConfigError(message, key=key, value=value)
        elif value is not None and HIDDEN in value:
            message = f"{key} has {HIDDEN} in it, which stands for nothing here: write the value"
            yield ConfigError(message, key=key, value=value)


def check_expressions(
    before: Mapping[str, str], after: Mapping[str, str | None], *, providers_only: bool = False
) -> None:
    """
    Makes sure that nobody reads over REST what config providers can read.

    Args:
        before: a configuration; what stays as it is may have expressions.
        providers_only: whether expressions are taken, and only keys that define providers are not.

    Raises:
        ConfigErrors: a value is new and has an expression, or a key says what providers may read.
    """
    problems = [
        ConfigError(f"{key} = {shown(key, value)}: {_NOT_TAKEN}", key=key)
        for key, value in after.items()
        if value is not None
        and value != before.get(key)
        and (key.startswith("config.providers") or (not providers_only and _has_expression(value)))
    ]
    if problems:
        raise ConfigErrors(problems)


def _has_expression(value: str) -> bool:
    return next(expressions(value), None) is not None
