"""Prints rows for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

Row: TypeAlias = Mapping[str, str | int | None]

FORMATS: Final = ("table", "json", "yaml", "tsv")


def rendered(columns: Sequence[str], rows: Sequence[Row], format_: str) -> str:
    """
    The rows as text: a table, tab-separated values with a head, or a list in JSON or YAML.

    Args:
        columns: their names, which the rows use as keys.
        rows: the values; None is an empty field, or null.
        format_: one of ``FORMATS``.
    """
    if format_ == "json":
        return json.dumps([dict(row) for row in rows], indent=2)
    if format_ == "yaml":
        return "\n".join(_yaml(columns, row) for row in rows) or "[]"
    fields = [[_text(row[column]) for column in columns] for row in rows]
    if format_ == "tsv":
        return "\n".join("\t".join(line) for line in [list(columns), *fields])
    lines = [[column.upper() for column in columns], *fields]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    padded = (
        "  ".join(field.ljust(width) for field, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "\n".join(line.rstrip() for line in padded)


def _yaml(columns: Sequence[str], row: Row) -> str:
    """One item of a list; what JSON calls a scalar, YAML does too."""
    pairs = [f"{column}: {json.dumps(row[column])}" for column in columns]
    return "- " + "\n  ".join(pairs)


def _text(value: str | int | None) -> str:
    return "-" if value is None else str(value)
