"""Which private attributes of aiokafka are used, and where; its next version is no surprise."""

from __future__ import annotations

import ast
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection

import mm2.kafka

_MODULES: Final = Path(mm2.kafka.__file__).parent

_OF_CONNECTION: Final = {
    "_client_id",
    "_closed_fut",
    "_do_sasl_handshake",
    "_do_version_lookup",
    "_idle_check",
    "_idle_handle",
    "_last_action",
    "_loop",
    "_max_idle_ms",
    "_next_correlation_id",
    "_on_close_cb",
    "_request_timeout",
    "_requests",
    "_sasl_mechanism",
    "_security_protocol",
    "_ssl_context",
    "_versions",
}
_OF_CLIENT: Final = {"_md_synchronizer", "_metadata_update", "_sync_task"}
_OF_PRODUCER: Final = {"_message_accumulator", "_sender"}
_OF_ACCUMULATOR: Final = {"_batches", "_pending_batches"}


@asynccontextmanager
async def _connection() -> AsyncIterator[list[object]]:
    yield [AIOKafkaConnection("localhost", 1)]


@asynccontextmanager
async def _client() -> AsyncIterator[list[object]]:
    yield [AIOKafkaClient()]


@asynccontextmanager
async def _producer() -> AsyncIterator[list[object]]:
    producer = AIOKafkaProducer()
    yield [producer, producer._message_accumulator]
    await producer.stop()


def test_other_objects_private_attributes_are_used_in_one_module() -> None:
    """Ruff refuses them, except on lines that say why (SLF001)."""
    found = {
        path.relative_to(_MODULES).as_posix()
        for path in _MODULES.rglob("*.py")
        if "SLF001" in path.read_text()
    }
    assert found == {"writer.py"}


def test_classes_of_aiokafka_that_have_private_attributes_are_extended_in_three_modules() -> None:
    bases = {"AIOKafkaConnection", "AIOKafkaClient", "AIOKafkaProducer", "AIOKafkaConsumer"}
    found = {
        path.relative_to(_MODULES).as_posix()
        for path in _MODULES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        if bases & {base.id for base in node.bases if isinstance(base, ast.Name)}
    }
    assert found == {"wire/connection.py", "wire/nodes.py", "writer.py"}


@pytest.mark.parametrize(
    ("module", "made", "expected"),
    [
        pytest.param("wire/connection.py", _connection, _OF_CONNECTION, id="connection"),
        pytest.param("wire/nodes.py", _client, _OF_CLIENT, id="client"),
        pytest.param("writer.py", _producer, _OF_PRODUCER | _OF_ACCUMULATOR, id="producer"),
    ],
)
async def test_aiokafka_has_the_private_attributes_that_are_used(
    module: str, made: Callable[[], AbstractAsyncContextManager[list[object]]], expected: set[str]
) -> None:
    """One that aiokafka drops, and one more that a module begins to use, make a difference."""
    names = set(_private_names((_MODULES / module).read_text()))
    async with made() as objects:
        used = {name for name in names if any(hasattr(each, name) for each in objects)}
    assert used == expected


def _private_names(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Attribute(attr=name):
                pass
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                pass
            case _:
                continue
        if name.startswith("_") and not name.startswith("__"):
            yield name
