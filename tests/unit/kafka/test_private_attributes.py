"""Which private attributes of aiokafka are used, and where; its next version is no surprise."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Final

import pytest

import flows
import mm2
import mm2.kafka

_BY_NAME: Final = {"getattr", "setattr", "hasattr", "delattr", "attrgetter", "methodcaller"}
"""Functions that take the name of an attribute."""

_IMPORT: Final = re.compile(r"^\s*(from|import) aiokafka", re.MULTILINE)

_OF_CLASSES: Final = {
    "mm2.kafka.wire.nodes.NodesClient": {
        "_md_synchronizer",
        "_md_update_fut",
        "_metadata_update",
        "_sync_task",
    },
}

_EXCHANGED: Final = {
    "aiokafka.consumer.consumer": {"AIOKafkaClient"},
    "aiokafka.consumer.fetcher": {"MemoryRecords", "PartitionRecords"},
    "aiokafka.consumer.group_coordinator": {"ConsumerProtocol"},
    "aiokafka.producer.producer": {"AIOKafkaClient"},
}
"""Names of aiokafka's modules to which we give other values."""

_OF_OUR_OWN: Final = {("log_dirs.py", "_folder"), ("topic_names.py", "_topics")}
"""Of objects of our own classes, in their own methods."""


def test_classes_of_ours_use_those_of_their_bases_that_are_listed() -> None:
    """One that aiokafka drops, and one more that a class begins to use, make a difference."""
    assert {name: used for name, used in _used_of_bases() if used} == _OF_CLASSES


def test_no_module_uses_those_of_other_objects() -> None:
    texts = {path: path.read_text() for path in _paths(mm2, flows)}
    found = {
        (path.name, name)
        for path, text in texts.items()
        if path.is_relative_to(_folder(mm2.kafka)) or _IMPORT.search(text)
        for name in _of_others(ast.parse(text))
    }
    assert found == _OF_OUR_OWN


@pytest.mark.parametrize("module", _EXCHANGED)
def test_aiokafka_looks_up_the_names_that_are_exchanged(module: str) -> None:
    """When it is called; else it would go on with its own classes, and read less."""
    tree = ast.parse(inspect.getsource(import_module(module)))
    looked_up = {
        node.id
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    assert _EXCHANGED[module] <= looked_up


def test_all_names_that_are_exchanged_are_listed() -> None:
    found: dict[str, set[str]] = {}
    for path in _paths(mm2.kafka):
        tree = ast.parse(path.read_text())
        for module, name in _set_in_modules(tree):
            found.setdefault(module, set()).add(name)
    assert found == _EXCHANGED


def test_uses_are_found() -> None:
    text = """
    from aiokafka import _a
    from aiokafka._b import c
    import aiokafka._d
    def f(self, other):
        self._own, cls._own, super()._own, other.__class__, other.public
        other._e, f()._f, self.other._g, getattr(other, "_h"), aiokafka._i
    """
    assert sorted(_of_others(ast.parse(dedent(text)))) == [f"_{letter}" for letter in "abdefghi"]


def _folder(package: object) -> Path:
    (folder,) = package.__path__  # type: ignore[attr-defined]  # of a package
    return Path(folder)


def _paths(*packages: object) -> Iterator[Path]:
    for package in packages:
        yield from _folder(package).rglob("*.py")


def _imported(tree: ast.AST) -> Iterator[tuple[str, str, str]]:
    """Module, name in it, and the name that it gets, of all that is imported from aiokafka."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                found = [(module, each.name, each.asname or each.name) for each in names]
            case ast.Import(names=names):
                found = [(each.name, "", each.asname or each.name) for each in names]
            case _:
                continue
        yield from (each for each in found if each[0].partition(".")[0] == "aiokafka")


def _set_in_modules(tree: ast.AST) -> Iterator[tuple[str, str]]:
    modules = {alias: f"{module}.{name}" for module, name, alias in _imported(tree)}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=alias), attr=name, ctx=ast.Store()):
                if inspect.ismodule(module := _named(modules.get(alias, ""))):
                    yield module.__name__, name


def _named(path: str) -> object:
    return pkgutil.resolve_name(path) if path else None


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _of_others(tree: ast.AST) -> Iterator[str]:
    for module, name, _ in _imported(tree):
        yield from filter(_is_private, [*module.split("."), name])
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=owner, attr=name):
                if _is_private(name) and not _is_own(owner):
                    yield name
            case ast.Call(func=ast.Name(id=function), args=given) if function in _BY_NAME:
                texts = [each.value for each in given if isinstance(each, ast.Constant)]
                yield from filter(_is_private, map(str, texts))


def _is_own(owner: ast.expr) -> bool:
    match owner:
        case ast.Name(id="self" | "cls") | ast.Call(func=ast.Name(id="super")):
            return True
    return False


def _used_of_bases() -> Iterator[tuple[str, set[str]]]:
    """Classes that extend aiokafka's, with the private names of these that they use, or take."""
    for each in pkgutil.walk_packages(mm2.kafka.__path__, f"{mm2.kafka.__name__}."):
        for found in vars(import_module(each.name)).values():
            if inspect.isclass(found) and found.__module__ == each.name:
                bases = [base for base in found.__mro__ if base.__module__.startswith("aiokafka.")]
                known = {name for base in bases for name in _names_of(base)}
                yield f"{each.name}.{found.__qualname__}", known & set(_names_of(found))


def _names_of(cls: type) -> Iterator[str]:
    """Private names that a class defines, or uses of itself."""
    for node in ast.walk(ast.parse(dedent(inspect.getsource(cls)))):
        match node:
            case ast.Attribute(value=owner, attr=name) if _is_own(owner):
                found = [name]
            case ast.ClassDef(body=body):
                found = [name for each in body for name in _defined(each)]
            case _:
                continue
        yield from filter(_is_private, found)


def _defined(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Assign(targets=targets):
            yield from (each.id for each in targets if isinstance(each, ast.Name))
