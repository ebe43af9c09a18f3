"""Leader state that must survive a change of leader, stored in the control topic."""

from __future__ import annotations

from typing import TypeVar

from mm2.config.flow_config import FlowConfig
from mm2.kafka.logs.read_log import read_to_end
from mm2.kafka.writer import Writer
from mm2.protocol.memory_records import (
    MEMORY_KEYS,
    MemoryRecord,
    decode_memory,
    encode_memory,
)

_MemoryT = TypeVar("_MemoryT", bound=MemoryRecord)


class LeaderState:
    """Remembers one record of each kind."""

    def __init__(self, config: FlowConfig) -> None:
        self._target = config.flow.target
        self._herder = config.herder
        self._topic = config.herder.names.control_topic
        self._read: dict[bytes | None, bytes | None] | None = None

    async def get(self, record_type: type[_MemoryT]) -> _MemoryT | None:
        """
        What was remembered last; None if nothing ever was.

        Raises:
            ClusterError: the target does not answer.
            SchemaError: the record is damaged.
        """
        value = (await self._values()).get(MEMORY_KEYS[record_type])
        return None if value is None else decode_memory(record_type, value)

    async def put(self, record: MemoryRecord) -> None:
        """
        Keeps a record in place of the former one of its kind.

        Raises:
            ClusterError: the target does not take it.
        """
        values = await self._values()
        key, value = encode_memory(record)
        if values.get(key) == value:
            return
        properties = self._herder.client("producer", "memory")
        async with Writer(self._target, properties, compression="gzip") as writer:
            await writer.send(self._topic, key, value, partition=0)
        values[key] = value

    async def _values(self) -> dict[bytes | None, bytes | None]:
        if self._read is None:
            properties = self._herder.client("consumer", "memory")
            records = await read_to_end(
                self._target,
                properties,
                self._topic,
                newest_only=True,
                accepts=lambda key: key in MEMORY_KEYS.values(),
            )
            self._read = {record.key: record.value for record in records}
        return self._read
