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
from mm2.config.overrides import Alteration, Changes, alteration
from mm2.errors import ConfigError, ConfigErrors
from mm2.herder.flow_classes import class_problem
from mm2.kafka.logs.read_log import Record
from mm2.kafka.writer import Writer
from mm2.protocol.command_records import Alterations
from mm2.protocol.control_codec import encode_control
from mm2.protocol.desired_state import ControlBacklog, newer_alterations, readable

_AT_THE_SAME_TIME: Final = "somebody else altered the flow at the same time: both changes hold"


class AlterationWriter:
    """
    One alteration on its way.

    Args:
        read_after: yields the records of the control topic after an offset.
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
            seen: offset of the last record that it was made in view of.

        Raises:
            ConfigErrors: what others have written does not go with it; theirs holds.
            ClusterError: the target does not answer, or refuses.
        """
        while True:
            record = encode_control(record_of(done))
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
        earlier = _alterations(missed).changes
        left = [key for key in self._reset if key in earlier]
        done = await checked_alteration(self._config, earlier, self._changes, left)
        return replace(done, notes=(*done.notes, _AT_THE_SAME_TIME))


async def checked_alteration(
    config: FlowConfig, earlier: Changes, changes: Changes, reset: Collection[str]
) -> Alteration:
    """
    As ``alteration``; also loads the classes that the flow has then.

    Raises:
        ConfigErrors: everything that would be wrong with the flow.
    """

    def check() -> Alteration:
        done = alteration(config, earlier, changes, reset)
        if problem := class_problem(done.config):
            raise ConfigErrors([problem])
        return done

    # In another thread: patterns and classes may take their time.
    return await asyncio.to_thread(check)


def record_of(done: Alteration) -> Alterations:
    """The record that makes an alteration hold."""
    return Alterations(changes=done.overrides, time_ms=done.time_ms)


def known_alterations(backlog: ControlBacklog) -> Alterations:
    """
    What is altered.

    Raises:
        ConfigErrors: a newer release has altered it last.
    """
    if backlog.newer is not None:
        raise _too_new(backlog.newer)
    return backlog.desired.alterations


def _alterations(record: Record) -> Alterations:
    if newer := newer_alterations(record):
        raise _too_new(newer)
    entry = readable(record)
    return entry if isinstance(entry, Alterations) else Alterations(changes={})


def _alters(record: Record) -> bool:
    if newer_alterations(record) is not None:
        return True
    return isinstance(readable(record), Alterations)


def _too_new(newer: str) -> ConfigErrors:
    advice = "a newer release has altered the flow, so that only such a one can alter it"
    return ConfigErrors([ConfigError(f"{advice}: {newer}")])
