"""Only methods of a partition's parts change their fields: no other module assigns to them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import flows
from flows.source.commit.commit_progress import CommitProgress
from flows.source.fetch.fetch_state import FetchState, ValidationState
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.remote_state import FoundGaps, RemoteState

_CODE = Path(next(iter(flows.__path__)))
_PARTS = (CommitProgress, FetchState, ValidationState, RemoteState, FoundGaps)


def test_no_module_assigns_to_fields_of_a_part() -> None:
    stores = {
        f"{module.relative_to(_CODE)}:{store.lineno} {ast.unparse(store)}"
        for module in _CODE.rglob("*.py")
        for store in _stores_of(ast.parse(module.read_text("utf-8")))
    }
    assert stores == set()


def test_a_store_is_found() -> None:
    (found,) = _stores_of(ast.parse("def f(p):\n    p.progress.records += 1\n    p.error = ''"))
    assert found.attr == "records"


def _stores_of(tree: ast.AST) -> Iterator[ast.Attribute]:
    """``partition.progress.records = 1``, and ``+=``."""
    parts = {each.name for each in fields(MirroredPartition) if each.name in _names_of_parts()}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store):
            continue
        if isinstance(node.value, ast.Attribute) and node.value.attr in (*parts, "sender"):
            yield node


def _names_of_parts() -> set[str]:
    types = {part.__name__ for part in _PARTS}
    return {each.name for each in fields(MirroredPartition) if str(each.type) in types}
