"""
Reads the files that name connectors to ``connect-standalone``.

Properties, or JSON: one object of texts, or what REST takes to create a connector (KAFKA-16445).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mm2.config.text.properties import parse
from mm2.core.connect.config_records import TargetState
from mm2.core.json_text import read_json
from mm2.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorFile:
    """
    A connector's configuration, its name included, and its initial state.

    Attributes:
        lines: line of each key; none for JSON.
    """

    config: Mapping[str, str]
    lines: Mapping[str, int] = field(default_factory=dict)
    state: TargetState = TargetState.STARTED


def read_connector_file(path: Path) -> ConnectorFile:
    """
    Reads one file.

    Raises:
        ConfigError: it cannot be read, or is neither of the two.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        document = read_json(data)
    except ValueError as error:
        if path.suffix == ".json" or data.lstrip().startswith(b"{"):
            raise _broken(error) from error
        file = parse(data, name=str(path))
        return ConnectorFile(config=file.values, lines=file.lines)
    return _of_json(document)


def _broken(error: ValueError) -> ConfigError:
    """Position of the JSON syntax error."""
    if isinstance(error, json.JSONDecodeError):
        message = f"not JSON: {error.msg} (column {error.colno})"
        return ConfigError(message, line=error.lineno)
    return ConfigError(f"not JSON: {error}")


def _of_json(document: object) -> ConnectorFile:
    match document:
        case {"name": str(name), "config": dict(config), **rest}:
            return _of_request(name, _texts(config), rest.get("initial_state"))
        case dict(config):
            return ConnectorFile(config=_texts(config))
        case _:
            raise ConfigError('a connector in JSON is {"name": ..., "config": {...}}')


def _of_request(name: str, config: dict[str, str], state: object) -> ConnectorFile:
    if config.setdefault("name", name) != name:
        message = f"the connector is called {name}, but {config['name']} in its config"
        raise ConfigError(message, key="name", value=config["name"])
    states = {"RUNNING": TargetState.STARTED, **TargetState.__members__}
    word = "RUNNING" if state is None else str(state).upper()
    if word == "STARTED" or word not in states:
        message = f"initial_state = {state}: write RUNNING, PAUSED or STOPPED"
        raise ConfigError(message, key="initial_state", value=str(state))
    return ConnectorFile(config=config, state=states[word])


def _texts(config: Mapping[object, object]) -> dict[str, str]:
    """JSON's own numbers and booleans are taken as their texts, as REST does."""
    found: dict[str, str] = {}
    for key, value in config.items():
        if isinstance(value, dict | list):
            message = f"{key} is no text: write it in quotes"
            raise ConfigError(message, key=str(key))
        if value is not None:
            found[str(key)] = value if isinstance(value, str) else json.dumps(value)
    return found
