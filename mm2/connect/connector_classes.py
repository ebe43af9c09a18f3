"""The classes of connectors that a worker runs, by the names that configurations give them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mm2.config.keys.key_table import nearest
from mm2.core.model import CHECKPOINT_CONNECTOR, HEARTBEAT_CONNECTOR, SOURCE_CONNECTOR
from mm2.errors import ConfigError

SINK_CONNECTOR: Final = "MirrorSinkConnector"
CHECKPOINT_SINK: Final = "CheckpointSinkConnector"
_PACKAGE: Final = "org.apache.kafka.connect.mirror."


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorClass:
    """
    What one class does.

    Attributes:
        part: the connector of a flow that does its work, by its simple name.
        is_sink: whether its worker is at the source cluster and not at the target.
    """

    name: str
    part: str
    is_sink: bool = False

    @property
    def is_checkpoint_sink(self) -> bool:
        """Whether checkpoints are used, and none emitted."""
        return self.name == CHECKPOINT_SINK

    @property
    def full_name(self) -> str:
        """As Java names the class."""
        return _PACKAGE + self.name


CLASSES: Final = (
    ConnectorClass(name=SOURCE_CONNECTOR, part=SOURCE_CONNECTOR),
    ConnectorClass(name=CHECKPOINT_CONNECTOR, part=CHECKPOINT_CONNECTOR),
    ConnectorClass(name=HEARTBEAT_CONNECTOR, part=HEARTBEAT_CONNECTOR),
    ConnectorClass(name=SINK_CONNECTOR, part=SOURCE_CONNECTOR, is_sink=True),
    ConnectorClass(name=CHECKPOINT_SINK, part=CHECKPOINT_CONNECTOR, is_sink=True),
)

_BY_NAME: Final = {
    alias: each
    for each in CLASSES
    # Connect also takes the simple name, and that without "Connector".
    for alias in (each.full_name, each.name, each.name.removesuffix("Connector"))
}


def connector_class(text: str | None) -> ConnectorClass:
    """
    The class that ``connector.class`` names.

    Raises:
        ConfigError: there is none, or it is not one of these.
    """
    key = "connector.class"
    if not (name := (text or "").strip()):
        raise ConfigError(f"{key} is missing: write {key} = {_names()}", key=key)
    if name in _BY_NAME:
        return _BY_NAME[name]
    message = f"{key} = {name}: this worker runs MirrorMaker's connectors only: {_names()}"
    raise ConfigError(message, key=key, value=name, suggestion=nearest(name, _BY_NAME))


def _names() -> str:
    *others, last = (each.name for each in CLASSES)
    return f"{', '.join(others)} or {last}"
