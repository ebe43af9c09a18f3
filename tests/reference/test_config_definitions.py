"""Our table of keys beside the definitions of Java's classes."""

from __future__ import annotations

import json
import subprocess
from typing import NamedTuple

import pytest

from mm2.config.keys.definition import Definition
from mm2.config.keys.key_table import TABLE, keys_of
from mm2.config.keys.keys_clients import CLIENT_KINDS, CLIENT_SETTINGS
from mm2.config.keys.keys_security import CLIENT_NAMES
from tests.reference.java_config import compiled

pytestmark = pytest.mark.reference


class _Key(NamedTuple):
    type: str
    default: str | None
    importance: str
    required: bool


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, _Key]]:
    command = compiled("ConfigDefinitions", tmp_path_factory.mktemp("classes"))
    output = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    found: dict[str, dict[str, dict[str, str]]] = json.loads(output)
    return {
        definition: {
            name: _Key(key["type"], key["default"], key["importance"], bool(key["required"]))
            for name, key in keys.items()
        }
        for definition, keys in found.items()
    }


@pytest.mark.parametrize(
    ("definition", "count"),
    [
        (Definition.MAKER, 76),
        (Definition.SOURCE, 113),
        (Definition.CHECKPOINT, 108),
        (Definition.HEARTBEAT, 97),
        (Definition.CLIENT, 66),
    ],
    ids=lambda value: str(getattr(value, "name", value)).lower(),
)
def test_names_types_defaults_and_importance_are_java_s(
    definitions: dict[str, dict[str, _Key]], definition: Definition, count: int
) -> None:
    """The reference tables of 1.1."""
    theirs = definitions[definition.name.lower()]
    ours = {
        key.name: _Key(key.type.name, key.default, key.importance, key.required)
        for key in keys_of(definition).values()
    }
    assert ours == theirs
    assert len(ours) == count


def test_every_key_of_java_s_worker_is_known(definitions: dict[str, dict[str, _Key]]) -> None:
    """Types and defaults too, but for converters, which the worker defines otherwise."""
    theirs = definitions["worker"]
    assert theirs.keys() <= TABLE.keys()
    for name, key in keys_of(Definition.WORKER).items():
        assert (key.type.name, key.default) == theirs[name][:2], name


@pytest.mark.parametrize("kind", CLIENT_KINDS)
def test_names_of_client_settings_are_java_s(
    definitions: dict[str, dict[str, _Key]], kind: str
) -> None:
    ours = next(names for known, names in CLIENT_SETTINGS.items() if known == kind)
    assert ours == definitions[kind].keys() - CLIENT_NAMES
