"""The registry of log events against the code that logs them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from mm2.telemetry.events import EVENTS, reference_page

_ROOT = Path(__file__).resolve().parents[2]
_LEVELS = {"debug", "info", "warning", "error", "critical"}


def _logged(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _LEVELS
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in {"log", "_log"}
        ):
            name = node.args[0]
            assert isinstance(name, ast.Constant), f"line {node.lineno}: no constant event"
            yield str(name.value)


def test_every_logged_event_is_registered_and_every_registered_one_is_logged() -> None:
    sources = [path for top in ("mm2", "flows") for path in (_ROOT / top).rglob("*.py")]
    logged = {name for path in sources for name in _logged(ast.parse(path.read_text()))}
    assert logged == EVENTS.keys()


def test_the_reference_page_is_up_to_date() -> None:
    page = _ROOT / "docs" / "reference" / "events.md"
    assert page.read_text() == reference_page(), "run scripts/generate-docs"


def test_tables_of_events_in_the_docs_name_events_that_there_are() -> None:
    pages = [page.read_text() for page in (_ROOT / "docs").rglob("*.md")]
    tables = [table for page in pages for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)]
    rows = [row for table in tables if table.startswith("| event") for row in table.splitlines()]
    named = {name for row in rows for name in re.findall(r"^\| `([^`]+)` \|", row)}
    assert "source.partition_failed" in named
    assert named <= EVENTS.keys()
