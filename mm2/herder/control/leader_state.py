"""
Leader state that must survive a change of leader, stored in the control topic.

Some things may only be done to what mm2 itself made, such as deleting it; names alone do not tell.
"""

from __future__ import annotations

import json
from typing import Any, Final

from mm2.config.flow_config import FlowConfig
from mm2.core.json_text import read_json
from mm2.errors import SchemaError
from mm2.kafka.logs.read_log import read_to_end
from mm2.kafka.writer import Writer
from mm2.protocol.codec import VERSION

_PREFIX: Final = "memory-"


class LeaderState:
    """
    Remembers one JSON document of each kind.

    Args:
        config: the flow.
    """

    def __init__(self, config: FlowConfig) -> None:
        self._target = config.flow.target
        self._herder = config.herder
        self._topic = config.herder.names.control_topic
        self._known: dict[str, Any] | None = None

    async def get(self, kind: str) -> Any:
        """
        What was remembered last; None if nothing ever was.

        Raises:
            ClusterError: the target does not answer.
            SchemaError: the document is damaged.
        """
        if self._known is None:
            self._known = await self._read()
        return self._known.get(kind)

    async def put(self, kind: str, document: Any) -> None:
        """
        Keeps a document in place of the former one of its kind.

        Raises:
            ClusterError: the target does not take it.
        """
        if await self.get(kind) == document:
            return
        key = f"{_PREFIX}{kind}".encode()
        value = json.dumps({"version": VERSION, "document": document}, separators=(",", ":"))
        properties = self._herder.client("producer", "memory")
        async with Writer(self._target, properties, compression="gzip") as writer:
            await writer.send(self._topic, key, value.encode(), partition=0)
        assert self._known is not None  # noqa: S101 - recall has read it
        self._known[kind] = document

    async def _read(self) -> dict[str, Any]:
        properties = self._herder.client("consumer", "memory")
        records = await read_to_end(self._target, properties, self._topic, newest_only=True)
        found: dict[str, Any] = {}
        for record in records:
            name = (record.key or b"").decode(errors="replace")
            if name.startswith(_PREFIX) and record.value is not None:
                found[name.removeprefix(_PREFIX)] = _document(name, record.value)
        return found


def _document(name: str, value: bytes) -> Any:
    try:
        fields: Any = read_json(value)
        return fields["document"]
    except (ValueError, KeyError, TypeError) as error:
        raise SchemaError(f"control record {name!r} cannot be read: {error!r}") from error
