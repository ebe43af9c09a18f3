"""
Config providers: ``${provider:key}`` and ``${provider:path:key}`` in values (C059-C066).

Kafka's own three (environment, files, directories) are ours under their Java class names. Values
are replaced in one pass, without nesting; what nobody knows stays as it is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Protocol

from mm2.config.text.allowed_paths import AllowedPaths
from mm2.config.text.expressions import RESOLVED, Expression, expressions, is_glued
from mm2.config.text.properties import parse_text
from mm2.config.text.redact import is_for_code, is_secret
from mm2.core.java_regex import JavaPattern
from mm2.errors import ConfigError

_PACKAGE: Final = "org.apache.kafka.common.config.provider."
_MOST_BYTES: Final = 1 << 20
"""Of a file with values."""


class Provider(Protocol):
    """Answers for one provider name."""

    def get(self, path: str, key: str) -> str | None:
        """The value of ``key`` below ``path`` (empty if not written), or None if there is none."""


class EnvironmentProvider:
    """``EnvVarConfigProvider``: variables whose whole name matches ``allowlist.pattern`` (C064)."""

    def __init__(self, parameters: Mapping[str, str], environment: Mapping[str, str]) -> None:
        self._allowed = JavaPattern(parameters.get("allowlist.pattern", ".*"))
        self._environment = environment

    def get(self, path: str, key: str) -> str | None:
        """
        Reads a variable.

        Raises:
            ConfigError: a path is written, which makes no sense here.
        """
        if path:
            message = f"Path is not supported for EnvVarConfigProvider, invalid value '{path}'"
            raise ConfigError(f"{message}; write ${{provider:VARIABLE}}")
        return self._environment.get(key) if self._allowed.matches(key) else None


class FileProvider:
    """``FileConfigProvider``: keys of a .properties file in UTF-8 (C065)."""

    def __init__(self, parameters: Mapping[str, str]) -> None:
        self._paths = AllowedPaths(parameters)

    def get(self, path: str, key: str) -> str | None:
        """
        Reads one key of the file at ``path``.

        Raises:
            ConfigError: the file cannot be read, is larger than a mebibyte, is not UTF-8, or has a
                malformed escape.
        """
        file = self._paths.path(path) if path else None
        if file is None:
            return None
        try:
            text = _text(file)
        except (OSError, ValueError) as error:
            raise ConfigError(f"Could not read properties from file {path}: {error}") from error
        return _parsed(path, text).get(key)


def _text(file: Path) -> str:
    """
    A whole file; clients of REST may name any path, also of what never ends or keeps one waiting.

    Raises:
        OSError: it cannot be read, or is no regular file.
        ValueError: it is too large, or is not UTF-8.
    """
    if not file.is_file() and file.exists():
        raise OSError("not a regular file")
    with file.open("rb") as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError(f"more than {_MOST_BYTES} bytes")
    return data.decode("utf-8")


def _parsed(path: str, text: str) -> Mapping[str, str]:
    """The properties of a file, of which errors quote nothing but the line."""
    try:
        return parse_text(text, name=path).values
    except ConfigError as error:
        message = f"Could not read properties from file {path}: malformed escape in line"
        raise ConfigError(f"{message} {error.line}") from None


class DirectoryProvider:
    """``DirectoryConfigProvider``: whole files of a directory, UTF-8, line ends included (C066)."""

    def __init__(self, parameters: Mapping[str, str]) -> None:
        self._paths = AllowedPaths(parameters)

    def get(self, path: str, key: str) -> str | None:
        """
        Reads the file called ``key`` in the directory ``path``.

        Raises:
            ConfigError: the file is there but cannot be read, is larger than a mebibyte, or is not
                UTF-8.
        """
        directory = self._paths.path(path) if path else None
        if directory is None or key != Path(key).name:
            return None
        file = directory / key
        if not file.is_file():
            return None
        try:
            return _text(file)
        except (OSError, ValueError) as error:
            raise ConfigError(f"Could not read file {file} for property {key}: {error}") from error


class Providers:
    """
    The providers of one configuration, by name.

    Args:
        shown: expressions whose values may be shown (``open_expressions``).
        answers: values that providers gave earlier; they count while a provider gives none.
    """

    def __init__(
        self,
        providers: Mapping[str, Provider],
        shown: frozenset[str] = frozenset(),
        answers: dict[str, str] | None = None,
    ) -> None:
        self._providers = providers
        self._shown = shown
        self._answers = {} if answers is None else answers

    def showing(self, shown: frozenset[str], answers: dict[str, str] | None = None) -> Providers:
        """The same, but the values of some expressions may be shown, and answers are kept."""
        return Providers(self._providers, shown, answers)

    def resolve(self, text: str, key: str = "") -> str:
        """Replaces every expression that a provider has a value for, and has the values hidden."""
        pieces, at = [], 0
        for found in expressions(text):
            value = self._value(found)
            if value is not None:
                self._hide(value, found, text, key)
            pieces += [text[at : found.start], found.text if value is None else value]
            at = found.end
        return "".join([*pieces, text[at:]])

    def resolve_all(self, properties: Mapping[str, str]) -> dict[str, str]:
        """
        Resolves every value.

        Raises:
            ConfigError: a provider fails; names the key whose value asked for it.
        """
        resolved: dict[str, str] = {}
        for key, text in properties.items():
            try:
                resolved[key] = self.resolve(text, key)
            except ConfigError as error:
                raise ConfigError(f"{key}: {error.message}", key=key, value=text) from error
        return resolved

    def unanswered(self, text: str) -> str | None:
        """The first expression in a text that a provider is asked for and has no value for."""
        for found in expressions(text):
            if found.provider in self._providers and self._value(found) is None:
                return found.text
        return None

    def _value(self, expression: Expression) -> str | None:
        provider = self._providers.get(expression.provider)
        if provider is None:
            return None
        known = self._answers.get(expression.text)
        try:
            value = provider.get(expression.path, expression.key)
        except ConfigError:
            if known is None:
                raise
            value = None
        if value is None:
            return known
        self._answers[expression.text] = value
        return value

    def _hide(self, value: str, found: Expression, text: str, key: str) -> None:
        """A value that is shown for one key and secret for another is secret from then on."""
        is_open = found.text in self._shown and not RESOLVED.is_suspect(found.text)
        if is_secret(key) or is_for_code(key) or not is_open or "@" in value:
            glued = is_glued(text, found)
            RESOLVED.remember(value, found.text, is_secret=is_secret(key), within_words=glued)


def automatic_providers(
    properties: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> Providers:
    """
    The providers that ``AbstractConfig`` uses while it reads ``properties``.

    Names are split at commas without trimming, so that one after ", " goes unseen; those without a
    class are skipped (C061, C062). Parameters count as written, expressions unresolved.

    Raises:
        ConfigError: a class is not one of the three, or its parameters are wrong.
    """
    names = (properties.get("config.providers") or "").split(",")
    return _providers(names, properties, environment, aliases=False)


def listed_providers(
    names: Iterable[str],
    properties: Mapping[str, str],
    environment: Mapping[str, str] | None = None,
) -> Providers:
    """
    The providers that Connect's ``Plugins`` makes for ``names``, already trimmed.

    Here a class may also be given by its simple name, with or without "ConfigProvider" at its end.
    """
    return _providers(names, properties, environment, aliases=True)


def _providers(
    names: Iterable[str],
    properties: Mapping[str, str],
    environment: Mapping[str, str] | None,
    *,
    aliases: bool,
) -> Providers:
    return Providers(
        {
            name: _provider(
                name,
                properties,
                os.environ if environment is None else environment,
                aliases=aliases,
            )
            for name in names
            if f"config.providers.{name}.class" in properties
        }
    )


def _provider(
    name: str, properties: Mapping[str, str], environment: Mapping[str, str], *, aliases: bool
) -> Provider:
    key = f"config.providers.{name}.class"
    written = properties[key]
    prefix = f"config.providers.{name}.param."
    parameters = {
        k.removeprefix(prefix): v
        for k, v in properties.items()
        if k.startswith(prefix) and k != prefix
    }
    match _kind(written, aliases=aliases):
        case "EnvVar":
            return EnvironmentProvider(parameters, environment)
        case "File":
            return FileProvider(parameters)
        case "Directory":
            return DirectoryProvider(parameters)
    known = ", ".join(f"{_PACKAGE}{kind}ConfigProvider" for kind in ("EnvVar", "File", "Directory"))
    raise ConfigError(
        f"Invalid value '{written}' for configuration '{key}': config providers are {known}; "
        "classes of your own in Java cannot be loaded",
        key=key,
        value=written,
    )


def _kind(written: str, *, aliases: bool) -> str | None:
    """EnvVar, File or Directory, whatever form of the class name is written; None for others."""
    simple = written.removeprefix(_PACKAGE)
    full = simple != written and simple.endswith("ConfigProvider")
    return simple.removesuffix("ConfigProvider") if full or aliases else None
