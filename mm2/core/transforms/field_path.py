"""Names of fields, and paths to fields within fields (KIP-821)."""

from __future__ import annotations

from collections.abc import Iterator

from mm2.core.transforms.record_draft import Json, json_type
from mm2.errors import ConfigError, TransformError


def nested_path(text: str) -> tuple[str, ...]:
    r"""
    Reads a path in Connect's syntax V2: names between dots; those with dots between backticks.

    A backtick inside of these needs a backslash only where a dot follows.

    Raises:
        ConfigError: it is empty, or a backtick is not closed.
    """
    if not text:
        raise ConfigError("Path '' leads to no field", value=text)
    return tuple(_steps(text))


def value_at(fields: dict[str, Json], path: tuple[str, ...]) -> Json:
    """
    The value that a path leads to; None if there is none.

    Raises:
        TransformError: something on the way is neither an object nor null.
    """
    found: Json = fields
    for step in path:
        if found is None:
            return None
        if not isinstance(found, dict):
            raise TransformError(f"what holds field {step} is no object, but {json_type(found)}")
        found = found.get(step)
    return found


def _steps(text: str) -> Iterator[str]:
    rest: str | None = text
    while rest is not None:
        if rest.startswith("`"):
            step, rest = _quoted(rest[1:], text)
        else:
            step, dot, behind = rest.partition(".")
            rest = behind if dot else None
        yield step


def _quoted(rest: str, path: str) -> tuple[str, str | None]:
    """The name up to the backtick that ends it, and what follows the dot behind it."""
    name, at = "", 0
    while (end := rest.find("`", at)) >= 0:
        is_escaped = rest[end - 1 : end] == "\\"
        if end == len(rest) - 1 and not is_escaped:
            return name + rest[at:end], None
        if rest[end + 1 : end + 2] != ".":
            name, at = name + rest[at : end + 1], end + 1
        elif is_escaped:
            name, at = f"{name}{rest[at : end - 1]}`", end + 1
        else:
            return name + rest[at:end], rest[end + 2 :]
    raise ConfigError(f"Path '{path}': a backtick is not closed: put \\ before it", value=path)
