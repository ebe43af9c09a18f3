"""Keeps what a program has found, as JSON, and writes it into tables of the documentation."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def save(outcomes: Iterable[DataclassInstance], file: Path) -> None:
    """Writes outcomes as JSON, all or nothing: whoever is ended just then can go on, too."""
    written = file.with_name(f"{file.name}.new")
    written.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1) + "\n")
    written.replace(file)


def saved(file: Path) -> list[dict[str, Any]]:
    """The fields of what ``save`` has written; nothing where there is no file yet."""
    return json.loads(file.read_text()) if file.exists() else []


def saved_file(path: str) -> Path:
    """The type of an argument that names a file of outcomes."""
    if not Path(path).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {path}")
    return Path(path)


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write_table(name: str, table: str, page: Path, staying: Sequence[str] = ()) -> None:
    """
    Renews the table of a page that stands between ``<!-- name -->`` and ``<!-- end -->``.

    Args:
        staying: titles of rows, in their order, that stay where the new table has none of them,
            unless it has other columns.
    """
    begin, end = f"<!-- {name} -->\n", "<!-- end -->"
    pattern = re.escape(begin) + r"((?:\|.*\n)*)" + re.escape(end)

    def renewed(found: re.Match[str]) -> str:
        return begin + _with_those_that_stay(found[1], table, staying) + end

    page.write_text(re.sub(pattern, renewed, page.read_text()))


def _with_those_that_stay(old: str, new: str, staying: Sequence[str]) -> str:
    before, now = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if before[:1] != now[:1]:
        return new
    kept = {title: line for line in before[2:] if (title := _title(line)) in staying}
    rows = {**kept, **{_title(line): line for line in now[2:]}}
    known = {title: rows.pop(title) for title in staying if title in rows}
    return "".join([*now[:2], *known.values(), *rows.values()])


def _title(line: str) -> str:
    return line.split("|")[1].strip()
