"""
Replaces the secrets of a configuration by references, for files that others will read.

A value that only in part consists of expressions of config providers is a secret as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mm2.config.text.expressions import expressions
from mm2.config.text.redact import holds_secret
from mm2.errors import ConfigError, ConfigErrors

ENVIRONMENT_PROVIDER: Final = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
_PROVIDERS: Final = "config.providers"
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_FOR_NAMES: Final = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class References:
    """
    A configuration without secrets.

    Attributes:
        properties: the file's, with an expression in place of each secret.
        variables: environment variables that the configuration reads, in their order.
        moved: key of the file by the variable that now has to hold its value.
        folders: folders that its other providers read.
    """

    properties: Mapping[str, str]
    variables: tuple[str, ...]
    moved: Mapping[str, str]
    folders: tuple[str, ...]


def variable_of(key: str) -> str:
    """The variable of the environment for a key's secret: ``A.ssl.key.password``'s ends so."""
    return "MM2_" + _NOT_FOR_NAMES.sub("_", key).strip("_").upper()


def variables_of(raw: Mapping[str, str]) -> dict[str, str]:
    """A variable of its own for each key of a configuration whose value is a secret."""
    made: dict[str, str] = {}
    for key in (key for key, value in raw.items() if holds_secret(key, value)):
        name = variable_of(key)
        number = 1
        while (unique := name if number == 1 else f"{name}_{number}") in made.values():
            number += 1
        made[key] = unique
    return made


def with_references(
    properties: Mapping[str, str], variables: Mapping[str, str], prefix: str
) -> dict[str, str]:
    """
    The same properties, with ``${env:...}`` in the place of secrets.

    Args:
        variables: variable by key of the file.
        prefix: before the properties' keys in the file.
    """
    return {
        key: f"${{env:{variables[prefix + key]}}}" if prefix + key in variables else value
        for key, value in properties.items()
    }


def variables_in(properties: Mapping[str, str]) -> list[str]:
    """The variables of the environment that properties refer to."""
    found = re.findall(r"\$\{env:([^}]+)\}", "\n".join(properties.values()))
    return sorted(set(found))


def references(raw: Mapping[str, str]) -> References:
    """
    A configuration whose secrets are read from the environment.

    Values that are expressions of config providers stay as they are.

    Raises:
        ConfigErrors: an expression asks for what cannot be the name of a variable.
    """
    moved = variables_of(raw)
    properties = with_variables(raw, moved)
    found = [each for value in properties.values() for each in expressions(value)]
    of_env = _of_environment(properties)
    variables = tuple(dict.fromkeys(each.key for each in found if each.provider in of_env))
    if wrong := [each for each in variables if not _VARIABLE.fullmatch(each)]:
        raise ConfigErrors([ConfigError(f"{each!r} is no name of a variable") for each in wrong])
    return References(
        properties=properties,
        variables=variables,
        moved={variable: key for key, variable in moved.items()},
        folders=tuple(
            dict.fromkeys(each.path.rpartition("/")[0] or each.path for each in found if each.path)
        ),
    )


def with_variables(raw: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """
    The same configuration, with keys whose values are those of variables of the environment.

    Args:
        variables: variable by key.
    """
    env, added = _env_provider(raw) if variables else ("env", {})
    values = {key: f"${{{env}:{variable}}}" for key, variable in variables.items()}
    return {**raw, **added, **values}


def _env_provider(raw: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The name of a provider of environment variables, and the keys that add it."""
    if known := _of_environment(raw):
        return known[0], {}
    names = _names(raw)
    name = "env" if "env" not in names else "mm2env"
    class_key = f"{_PROVIDERS}.{name}.class"
    return name, {_PROVIDERS: ", ".join([*names, name]), class_key: ENVIRONMENT_PROVIDER}


def _of_environment(raw: Mapping[str, str]) -> list[str]:
    """Providers that read the environment."""
    classes = {name: raw.get(f"{_PROVIDERS}.{name}.class", "").strip() for name in _names(raw)}
    return [name for name, each in classes.items() if each == ENVIRONMENT_PROVIDER]


def _names(raw: Mapping[str, str]) -> list[str]:
    return [each.strip() for each in raw.get(_PROVIDERS, "").split(",") if each.strip()]
