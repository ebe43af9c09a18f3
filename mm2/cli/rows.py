"""Prints rows for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from mm2.core.amounts import bytes_text
from mm2.core.display_text import node_text
from mm2.core.times import age_text

Value: TypeAlias = str | int | bool | None
Row: TypeAlias = Mapping[str, Value]

FORMATS: Final = ("table", "json", "yaml", "tsv")
_DURATION: Final = "_ms"
_BYTES: Final = frozenset({"bytes", "bytes_left"})
_BYTES_PER_SECOND: Final = "bytes_per_s"
_NODES: Final = frozenset({"leader", "worker_id"})
_PERCENTAGE: Final = "percent"
_BAR_WIDTH: Final = 10


def rendered(
    columns: Sequence[str], rows: Sequence[Row], format_: str, *, with_bars: bool = False
) -> str:
    """
    The rows as text: a table, tab-separated values with a head, or a list in JSON or YAML.

    A table is for people: it shows durations and bytes with a unit of their size, eight digits of
    the UUID in the name of a node, and says yes and no.

    Args:
        columns: their names, which the rows use as keys; durations end in ``_ms``.
        rows: the values; None is an empty field, or null.
        format_: one of ``FORMATS``.
        with_bars: whether a table draws a bar beside each percentage.
    """
    if format_ == "json":
        return json.dumps([dict(row) for row in rows], indent=2)
    if format_ == "yaml":
        return "\n".join(_yaml(columns, row) for row in rows) or "[]"
    if format_ == "tsv":
        written = [[_text(row[column]) for column in columns] for row in rows]
        return "\n".join("\t".join(line) for line in [list(columns), *written])
    return _table(columns, rows, with_bars=with_bars)


def streamed(
    columns: Sequence[str], pieces: Iterable[Sequence[Row]], format_: str
) -> Iterator[str]:
    """
    What ``rendered`` makes of all rows, as texts that stand below each other.

    Each is yielded when its rows are there, and no rows are kept, but for a table.
    """
    if format_ == "json":
        yield from _json_list(row for rows in pieces for row in rows)
    elif format_ == "tsv":
        yield "\t".join(columns)
        texts = (rendered(columns, rows, format_) for rows in pieces if rows)
        yield from (text.partition("\n")[2] for text in texts)
    else:
        yield rendered(columns, [row for rows in pieces for row in rows], format_)


def _json_list(rows: Iterable[Row]) -> Iterator[str]:
    before: Row | None = None
    for row in rows:
        yield "[" if before is None else f"{_json_item(before)},"
        before = row
    yield from ["[]"] if before is None else [_json_item(before), "]"]


def _json_item(row: Row) -> str:
    return json.dumps([dict(row)], indent=2)[len("[\n") : -len("\n]")]


def _table(columns: Sequence[str], rows: Sequence[Row], *, with_bars: bool) -> str:
    head = [column.removesuffix(_DURATION).upper() for column in columns]
    show = _shown_with_bar if with_bars else _shown
    lines = [head, *([show(column, row[column]) for column in columns] for row in rows)]
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


def _shown(column: str, value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and column.endswith(_DURATION):
        return age_text(value)
    if isinstance(value, int) and column in _BYTES:
        return bytes_text(value)
    if isinstance(value, int) and column == _BYTES_PER_SECOND:
        return f"{bytes_text(value)}/s"
    if isinstance(value, str) and column in _NODES:
        return node_text(value)
    return _text(value)


def _shown_with_bar(column: str, value: Value) -> str:
    if column != _PERCENTAGE or not isinstance(value, int):
        return _shown(column, value)
    full = value * _BAR_WIDTH // 100
    return f"{'█' * full}{'░' * (_BAR_WIDTH - full)} {value}"


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return json.dumps(value)
    return "-" if value is None else str(value)
