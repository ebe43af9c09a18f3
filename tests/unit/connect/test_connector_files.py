"""Files that name connectors to a standalone worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from mm2.connect.connector_files import ConnectorFile, read_connector_file
from mm2.core.connect.config_records import TargetState
from mm2.errors import ConfigError


def _read(folder: Path, text: str) -> ConnectorFile:
    path = folder / "connector"
    path.write_text(text)
    return read_connector_file(path)


def test_properties_come_with_their_lines(tmp_path: Path) -> None:
    file = _read(tmp_path, "# mirror\nname = m\ntopics=a\\,b\n")
    assert file == ConnectorFile(
        config={"name": "m", "topics": "a,b"}, lines={"name": 2, "topics": 3}
    )


def test_json_may_be_the_configuration_or_what_rest_takes(tmp_path: Path) -> None:
    plain = _read(tmp_path, '{"name": "m", "tasks.max": 2, "enabled": true, "x": null}')
    assert plain.config == {"name": "m", "tasks.max": "2", "enabled": "true"}
    request = _read(tmp_path, '{"name": "m", "config": {"a": "b"}, "initial_state": "paused"}')
    assert request.config == {"a": "b", "name": "m"}
    assert (plain.state, request.state) == (TargetState.STARTED, TargetState.PAUSED)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[1]", "a connector in JSON is"),
        ('{"name": "m", "config": {"name": "n"}}', "called m, but n"),
        ('{"name": "m", "config": {}, "initial_state": "STARTED"}', "RUNNING, PAUSED or STOPPED"),
        ('{"name": "m", "topics": ["a"]}', "topics is no text"),
    ],
)
def test_json_that_is_no_connector_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        _read(tmp_path, text)


def test_of_broken_json_the_place_is_told(tmp_path: Path) -> None:
    """It used to pass for properties without any of the keys that are needed."""
    with pytest.raises(ConfigError, match=r"line 2: not JSON: .*column \d+"):
        _read(tmp_path, '{"name": "m",\n "topics": "a",}')
    path = tmp_path / "connector.json"
    path.write_text("name = m")
    with pytest.raises(ConfigError, match="not JSON"):
        read_connector_file(path)
    path.write_bytes(b'{"name": "\xff"}')
    with pytest.raises(ConfigError, match=r"not JSON: .*utf-8"):
        read_connector_file(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*missing"):
        read_connector_file(tmp_path / "missing")
