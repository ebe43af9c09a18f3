"""
What the tables of keys say is obeyed beside what the code reads.

The code is looked at, not run: a key that is obeyed is named by code outside of the tables, what it
is read into is used, and code reads nothing that the tables do not hold.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

from mm2.config.connector_settings import (
    CheckpointSettings,
    ErrorSettings,
    HeartbeatSettings,
    SourceSettings,
)
from mm2.config.flow_settings import HerderSettings
from mm2.config.keys.definition import Key, Support
from mm2.config.keys.key_table import TABLE
from mm2.config.keys.keys_clients import CLIENT_ROWS
from mm2.config.keys.keys_mm2 import SPELLINGS
from mm2.config.record_clients import DataSettings
from mm2.core.live_change_effects import Effect, effects_in_connector, effects_in_worker

_ROOT = Path(__file__).resolve().parents[3]
_DEFINE = frozenset({"_key", "_rest", "_source", "_checkpoint", "_retention", "Key"})
_OTHER_TABLES = frozenset(
    {
        "mm2/config/credentials.py",
        "mm2/config/keys/key_table.py",
        "mm2/config/checks/key_lint.py",
        "mm2/config/text/redact.py",
        "mm2/core/live_change_effects.py",
    }
)
_PARSED = frozenset(
    {"boolean", "integer", "text", "items", "milliseconds", "retention", "interval_of", "interval"}
)
_MAPPINGS = frozenset({"properties", "_properties", "user", "consumer", "producer"})
_SETTINGS = (
    HerderSettings,
    SourceSettings,
    CheckpointSettings,
    HeartbeatSettings,
    ErrorSettings,
    DataSettings,
)


@cache
def _modules() -> dict[str, ast.Module]:
    paths = [path for top in ("mm2", "flows") for path in (_ROOT / top).rglob("*.py")]
    return {str(path.relative_to(_ROOT)): ast.parse(path.read_text()) for path in paths}


def _is_table(path: str) -> bool:
    return path in _OTHER_TABLES or path.startswith("mm2/config/keys/keys_")


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _names(tree: ast.AST) -> Iterator[str]:
    """What is written in the code; of keys that are defined there, not the definition."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Call) and _called(child) in _DEFINE:
            continue
        yield from _names(child)
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value
        elif isinstance(child, ast.Call) and (pair := _pair(child)):
            yield from (f"{pair}.enabled", f"{pair}.interval.seconds")


def _pair(node: ast.Call) -> str | None:
    """What ``parsed.interval_of("refresh.topics")`` reads a switch and an interval of."""
    first = node.args[0] if node.args else None
    is_pair = _called(node) == "interval_of" and isinstance(first, ast.Constant)
    return str(first.value) if is_pair and isinstance(first, ast.Constant) else None


def _patterns(tree: ast.AST) -> Iterator[re.Pattern[str]]:
    """Names that are put together, such as ``f"{store}.password"``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (
                re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".+"
                for p in node.values
            )
            text = "".join(map(str, parts))
            if re.search(r"\\\.[a-z]{3}", text) and " " not in text:
                yield re.compile(text)


def _constants() -> dict[str, str]:
    """Names of keys that tables give to those who read them."""
    return {
        node.target.id: node.value.value
        for path, tree in _modules().items()
        for node in tree.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and (_is_table(path) or "KEY" in node.target.id)
    }


@cache
def _named() -> frozenset[str]:
    readers = [tree for path, tree in _modules().items() if not _is_table(path)]
    found = {name for tree in readers for name in _names(tree)}
    loaded = {node.id for tree in readers for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found |= {value for name, value in _constants().items() if name in loaded}
    patterns = {pattern for tree in readers for pattern in _patterns(tree)}
    names = {row.name for row in _rows()}
    built = {name for name in names if any(pattern.fullmatch(name) for pattern in patterns)}
    return frozenset(found | built)


def _rows() -> list[Key]:
    return [*TABLE.values(), *(row for rows in CLIENT_ROWS.values() for row in rows.values())]


def test_every_key_that_is_obeyed_is_read() -> None:
    obeyed = {row.name for row in _rows() if row.support is Support.OBEYED}
    assert obeyed - _named() == set()


def test_a_key_that_nobody_reads_would_be_found() -> None:
    assert not {"offset.flush.timeout.ms", "plugin.path", "ssl.provider"} & _named()


@pytest.mark.parametrize("settings", _SETTINGS, ids=lambda kind: kind.__name__)
def test_what_keys_are_read_into_is_used(settings: type[HerderSettings]) -> None:
    defined = {
        "connector_reading.py",
        "flow_settings.py",
        "connector_settings.py",
        "record_clients.py",
    }
    used = {
        node.attr
        for path, tree in _modules().items()
        if not (path.startswith("mm2/config/") and Path(path).name in defined)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    # Read by methods of the settings themselves.
    used |= {"admin_timeout", "properties"}
    # Read by filters, which are made from properties.
    used |= {"topics_exclude", "groups_exclude", "config_properties_exclude", "use_defaults_from"}
    assert {field.name for field in fields(settings)} - used == set()


def _asked(tree: ast.AST) -> Iterator[str]:
    """The keys that code asks for by their names."""
    for node in ast.walk(tree):
        found: ast.expr | None = None
        if isinstance(node, ast.Subscript) and _receiver(node.value) in _MAPPINGS:
            found = node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            is_mapping = node.func.attr == "get" and _receiver(node.func.value) in _MAPPINGS
            is_parsed = node.func.attr in _PARSED and _receiver(node.func.value) == "parsed"
            found = node.args[0] if is_mapping or is_parsed else None
        elif isinstance(node, ast.Call) and _called(node) == "milliseconds":
            found = node.args[1]
        if isinstance(found, ast.Constant) and isinstance(found.value, str):
            pair = _pair(node) if isinstance(node, ast.Call) else None
            yield f"{pair}.enabled" if pair else found.value


def _receiver(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def test_everything_that_is_read_is_documented() -> None:
    documented = {row.name for row in _rows()} | {spelling.name for spelling in SPELLINGS}
    asked = {name for tree in _modules().values() for name in _asked(tree)}
    assert len(asked) > 80
    assert asked - documented == set()


@pytest.mark.parametrize("row", TABLE.values(), ids=lambda row: row.name)
def test_what_a_change_does_agrees_with_the_table(row: Key) -> None:
    """A key that is obeyed has an effect when it changes; those of plug-ins start a flow anew."""
    effects = effects_in_connector(row.name) | effects_in_worker(row.name)
    if row.support is Support.OBEYED:
        assert effects != {Effect.NONE}
    else:
        assert effects <= {Effect.NONE, Effect.FLOW, Effect.PROCESS}
