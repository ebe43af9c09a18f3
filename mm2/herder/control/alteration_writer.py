"""
Writes alterations of a flow, so that those who alter it at the same time do not undo each other.

A record holds all that is altered, so it would take back what came since it was made. It has the
offset up to which its writer had read, and counts only if nothing that counts has come since
(``KnownAlterations``). Its writer finds out when it is written, and makes another over what counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import replace
from typing import Final

from mm2.config.flow_config import FlowConfig
from mm2.config.overrides import Alteration, Changes, alteration
from mm2.core.model import NO_OFFSET
from mm2.errors import ConfigError, ConfigErrors
from mm2.herder.flow_classes import class_problem
from mm2.kafka.logs.read_log import Record
from mm2.kafka.writer import Writer
from mm2.protocol.command_records import Alterations
from mm2.protocol.control_backlog import ControlBacklog, KnownAlterations
from mm2.protocol.control_codec import encode_control

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
        self._read = NO_OFFSET
        self._known = KnownAlterations()
        self._changes = changes
        self._reset = reset
        self._topic = config.herder.names.control_topic

    async def write(self, done: Alteration, backlog: ControlBacklog) -> Alteration:
        """
        Writes it, and once more over what others have written, until it counts.

        Args:
            backlog: what it was made in view of.

        Raises:
            ConfigErrors: what others have written does not go with it; theirs holds.
            ClusterError: the target does not answer, or refuses.
        """
        self._read, self._known = backlog.end, backlog.altered
        while not await self._counts(*encode_control(record_of(done, self._read))):
            try:
                done = await self._over_others()
            except ConfigErrors:
                await self._restore()
                raise
        return done

    async def _counts(self, key: bytes, value: bytes) -> bool:
        """Writes a record; whether it counts. Nothing is read if nobody else has written."""
        written = await self._writer.send(self._topic, key, value, partition=0)
        if written > self._read + 1:
            async for record in self._read_after(self._read):
                if record.offset < written:
                    self._known = self._known.then(record)
        own = Record(
            topic=self._topic, partition=0, offset=written, timestamp_ms=0, key=key, value=value
        )
        self._known, self._read = self._known.then(own), written
        # One whose answer was lost is there twice, and only the first counts.
        return self._known.record is not None and self._known.record.value == value

    async def _over_others(self) -> Alteration:
        earlier = known_alterations(self._known).changes
        left = [key for key in self._reset if key in earlier]
        done = await checked_alteration(self._config, earlier, self._changes, left)
        return replace(done, notes=(*done.notes, _AT_THE_SAME_TIME))

    async def _restore(self) -> None:
        """Writes once more what counts, as readers take the last record."""
        while not await self._counts(*self._known.again(self._read)):
            pass


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


def record_of(done: Alteration, read: int | None = None) -> Alterations:
    """The record that makes an alteration hold, if nothing has come since ``read`` that counts."""
    return Alterations(changes=done.overrides, time_ms=done.time_ms, read=read)


def known_alterations(known: KnownAlterations) -> Alterations:
    """
    What is altered.

    Raises:
        ConfigErrors: a newer release has altered it last.
    """
    if known.newer is not None:
        advice = "a newer release has altered the flow, so that only such a one can alter it"
        raise ConfigErrors([ConfigError(f"{advice}: {known.newer}")])
    return known.alterations
