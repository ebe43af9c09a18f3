"""
The positions topic of a flow as the herder and operators use it, while no task writes to it.
"""

from __future__ import annotations

from collections.abc import Mapping

from mm2.config.flow import FlowConfig
from mm2.core.connect_offsets import SourcePartition, encode_key, encode_offset
from mm2.core.model import SOURCE_CONNECTOR, TopicPartition
from mm2.core.positions import positions_of
from mm2.kafka.log import read_to_end
from mm2.kafka.writer import Writer


class PositionStore:
    """
    Reads and writes ``mm2-offsets.<source>.internal``.

    Args:
        config: the flow.
    """

    def __init__(self, config: FlowConfig) -> None:
        self._flow = config.flow
        self._herder = config.herder

    async def load(self) -> dict[TopicPartition, int]:
        """
        The offset of the last mirrored record of each source partition that has a position.

        Raises:
            ClusterError: the target does not answer, or has no such topic.
        """
        records = await read_to_end(
            self._flow.target,
            self._herder.client("consumer", "positions"),
            self._herder.offsets_topic,
            newest_only=True,
        )
        return positions_of(((r.key, r.value) for r in records), self._flow.source)

    async def save(self, positions: Mapping[TopicPartition, int | None]) -> None:
        """
        Writes positions, where Java's partitioner puts them; None deletes one.

        Raises:
            ClusterError: the target does not take one; those before it are written.
        """
        if not positions:
            return
        properties = self._herder.client("producer", "positions")
        async with Writer(self._flow.target, properties) as writer:
            for where, offset in sorted(positions.items()):
                key = encode_key(SOURCE_CONNECTOR, SourcePartition(self._flow.source, *where))
                value = None if offset is None else encode_offset(offset)
                await writer.send(self._herder.offsets_topic, key, value)
