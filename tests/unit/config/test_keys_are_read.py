"""
What the tables of keys say is obeyed beside what the code reads.

The code is looked at, not run: a key that is obeyed is named by code outside of the tables, what it
is read into is used, and code reads nothing that the tables do not hold.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from types import UnionType
from typing import get_args, get_origin, get_type_hints

import pytest

from mm2.config.connector_settings import (
    CheckpointSettings,
    ErrorSettings,
    GapSettings,
    HeartbeatSettings,
    SourceSettings,
    TransformSettings,
)
from mm2.config.flow_config import flow_config
from mm2.config.flow_settings import HerderSettings
from mm2.config.keys.definition import Key, Support
from mm2.config.keys.effects import Effect
from mm2.config.keys.key_table import TABLE
from mm2.config.keys.keys_clients import CLIENT_ROWS
from mm2.config.keys.keys_mm2 import SPELLINGS
from mm2.config.keys.keys_record_clients import CONSUMER_KEYS, PRODUCER_KEYS
from mm2.config.live_changes import effects_in_connector, effects_in_worker
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.record_clients import DataSettings
from mm2.core.model import ClusterAlias, SourceAndTarget

_ROOT = Path(__file__).resolve().parents[3]
_OTHER_TABLES = frozenset(
    {
        "mm2/config/credentials.py",
        "mm2/config/keys/key_table.py",
        "mm2/config/checks/key_lint.py",
        "mm2/config/text/redact.py",
        "mm2/config/live_changes.py",
    }
)
_PARSED = frozenset({"integer", "text"})
_MAPPINGS = frozenset({"properties", "_properties", "user", "consumer", "producer"})
_SETTINGS = (
    HerderSettings,
    SourceSettings,
    CheckpointSettings,
    HeartbeatSettings,
    ErrorSettings,
    GapSettings,
    TransformSettings,
    DataSettings,
)


@cache
def _modules() -> dict[str, ast.Module]:
    paths = [path for top in ("mm2", "flows") for path in (_ROOT / top).rglob("*.py")]
    return {str(path.relative_to(_ROOT)): ast.parse(path.read_text()) for path in paths}


@pytest.fixture(scope="module", autouse=True)
def _forgotten() -> Iterator[None]:
    """Lets go of half a million objects, which later collections of garbage would go through."""
    yield
    _modules.cache_clear()


def _is_table(path: str) -> bool:
    return path in _OTHER_TABLES or path.startswith("mm2/config/keys/keys_")


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


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


@cache
def _used() -> frozenset[str]:
    """Attributes that are read anywhere."""
    return frozenset(
        node.attr
        for tree in _modules().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    )


def _rows() -> list[Key]:
    clients = [row for rows in CLIENT_ROWS.values() for row in rows.values()]
    return [*TABLE.values(), *clients, *CONSUMER_KEYS, *PRODUCER_KEYS]


def _is_read(row: Key) -> bool:
    """By the field of settings that it fills; as the switch of such a job; or by its name."""
    names = {row.name, f"{row.name.removesuffix('.enabled')}.interval.seconds"}
    fields_filled = {each.field for each in (row, *_rows()) if each.name in names}
    return bool(fields_filled & _used()) or row.name in _named()


def test_every_key_that_is_obeyed_is_read() -> None:
    assert {
        row.name for row in _rows() if row.support is Support.OBEYED and not _is_read(row)
    } == set()


def test_a_key_that_nobody_reads_would_be_found() -> None:
    for name in ("offset.flush.timeout.ms", "plugin.path", "ssl.provider"):
        assert not _is_read(TABLE[name])
    assert not _is_read(replace(TABLE["plugin.path"], field="field_of_nobody"))


@pytest.mark.parametrize("settings", _SETTINGS, ids=lambda kind: kind.__name__)
def test_every_field_of_settings_is_used(settings: type[HerderSettings]) -> None:
    assert {field.name for field in fields(settings)} - _used() == set()


def test_every_row_fills_a_field_that_there_is() -> None:
    known = {field.name for kind in _SETTINGS for field in fields(kind)}
    assert {row.field for row in _rows() if row.field} - known == set()


def test_rows_fill_fields_with_what_their_types_say() -> None:
    flow = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
    raw = {"clusters": "A, B", "A.bootstrap.servers": "a:1", "B.bootstrap.servers": "b:1"}
    config = flow_config(MirrorMakerConfig(raw=raw), flow)
    parts = (config.source, config.checkpoint, config.heartbeat)
    nested = (config.source.errors, config.source.gaps, config.source.transforms)
    for part in (*parts, *nested, config.herder, config.data):
        for name, hint in get_type_hints(type(part)).items():
            choices = get_args(hint) if isinstance(hint, UnionType) else (hint,)
            kinds = tuple(get_origin(each) or each for each in choices)
            found = getattr(part, name)
            assert isinstance(found, kinds), f"{name} is {found!r}, not {hint}"


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
            yield found.value


def _receiver(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def test_everything_that_is_read_is_documented() -> None:
    documented = {row.name for row in _rows()} | {spelling.name for spelling in SPELLINGS}
    asked = {name for tree in _modules().values() for name in _asked(tree)}
    assert len(asked) > 25
    assert asked - documented == set()


@pytest.mark.parametrize("row", TABLE.values(), ids=lambda row: row.name)
def test_what_a_change_does_agrees_with_the_table(row: Key) -> None:
    """A key that is obeyed has an effect when it changes; those of plug-ins start a flow anew."""
    effects = effects_in_connector(row.name) | effects_in_worker(row.name)
    if row.support is Support.OBEYED:
        assert effects != {Effect.NONE}
    else:
        assert effects <= {Effect.NONE, Effect.FLOW, Effect.PROCESS}
