"""
Writes alterations of a flow, so that those who alter it at the same time do not undo each other.

A record holds all that is altered, so it would take back what came since it was made.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import replace
from typing import Final

from mm2.config.flow_config import FlowConfig
from mm2.config.overrides import Changes
from mm2.errors import ConfigError, ConfigErrors
from mm2.herder.control.config_alteration import Alteration, alteration
from mm2.kafka.logs.read_log import Record
from mm2.kafka.writer import Writer
from mm2.protocol.command_records import Alterations, encode_command
from mm2.protocol.desired_state import ControlBacklog, newer_alterations, readable_command

_AT_THE_SAME_TIME: Final = "somebody else altered the flow at the same time: both changes hold"


class AlterationWriter:
    """
    One alteration on its way.

    Args:
        config: the flow, as its file has it.
        writer: of its control topic.
        read_after: yields the records of the control topic after an offset.
        changes: new values by key.
        reset: keys that are to be as in the file again.
    """

    def __init__(
        self,
        config: FlowConfig,
        writer: Writer,
        read_after: Callable[[int], AsyncIterator[Record]],
        changes: Changes,
        reset: Collection[str],
    ) -> None:
        self._config = config
        self._writer = writer
        self._read_after = read_after
        self._changes = changes
        self._reset = reset
        self._topic = config.herder.names.control_topic

    async def write(self, done: Alteration, seen: int) -> Alteration:
        """
        Writes it, and once more over what others have written since it was made.

        Args:
            done: the alteration.
            seen: offset of the last record that it was made in view of.

        Raises:
            ConfigErrors: what others have written does not go with it; theirs holds.
            ClusterError: the target does not answer, or refuses.
        """
        while True:
            record = encode_command(done.alterations)
            written = await self._writer.send(self._topic, *record, partition=0)
            missed = await self._altered_between(seen, written)
            if missed is None:
                return done
            seen = written
            try:
                done = await self._over(missed)
            except ConfigErrors:
                await self._writer.send(self._topic, missed.key, missed.value, partition=0)
                raise

    async def _altered_between(self, seen: int, written: int) -> Record | None:
        """The last alteration between two offsets; nothing is read if there is none between."""
        found = None
        if written > seen + 1:
            async for record in self._read_after(seen):
                if record.offset < written and _alters(record):
                    found = record
        return found

    async def _over(self, missed: Record) -> Alteration:
        """The same over what somebody else has altered."""
        earlier = _alterations(missed).changes
        left = [key for key in self._reset if key in earlier]
        done = await asyncio.to_thread(alteration, self._config, earlier, self._changes, left)
        return replace(done, notes=(*done.notes, _AT_THE_SAME_TIME))


def known_alterations(said: ControlBacklog) -> Alterations:
    """
    What is altered.

    Raises:
        ConfigErrors: a newer release has altered it last.
    """
    if said.newer is not None:
        raise _too_new(said.newer)
    return said.steering.alterations


def _alterations(record: Record) -> Alterations:
    if newer := newer_alterations(record):
        raise _too_new(newer)
    said = readable_command(record)
    return said if isinstance(said, Alterations) else Alterations()


def _alters(record: Record) -> bool:
    if newer_alterations(record) is not None:
        return True
    return isinstance(readable_command(record), Alterations)


def _too_new(newer: str) -> ConfigErrors:
    advice = "a newer release has altered the flow, so that only such a one can alter it"
    return ConfigErrors([ConfigError(f"{advice}: {newer}")])
