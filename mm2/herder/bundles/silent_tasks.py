"""
Replaces tasks that run but report no more: their processes hang.

Spark knows executors that are gone and Python processes that have ended, and starts others. It does
not know a Python process that is stopped, or in which nothing goes on.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Final

import structlog

from mm2.config.connector_settings import TransformSettings
from mm2.config.flow_config import FlowConfig
from mm2.errors import ClusterError
from mm2.herder.bundles.bundle_assignments import Bundles
from mm2.kafka.writer import Writer
from mm2.protocol.task_events import encode_events
from mm2.supervision import run_periodically

log = structlog.get_logger()

_LOOK_EVERY_S: Final = 5.0

_LATE_AFTER_S: Final = 10.0
"""Tasks report each three seconds."""

_SILENT_AFTER_S: Final = 30.0

_WITH_USER_CODE_S: Final = 300.0
"""
A function of the user may compute for so long at a time, and the task does nothing else meanwhile.

Kafka's consumers may do so, too (``max.poll.interval.ms``).
"""

_STARTS_WITHIN_S: Final = 300.0
"""From when it has an executor to its first report."""

_ROUND_TRIPS: Final = 6
"""
Records that are written and read in a row, one at each look: half a minute.

After an outage of the target, tasks write to it again some seconds after we do.
"""

_NO_EVENTS: Final = encode_events(0, ())
"""A record of the progress topic that says nothing to anybody."""


def silent_after_s(transforms: TransformSettings) -> float:
    """For how many seconds a task with these transforms may report nothing."""
    runs_user_code = transforms.handler is not None or transforms.function is not None
    return _WITH_USER_CODE_S if runs_user_code else _SILENT_AFTER_S


class SilentTasks:
    """
    Looks for tasks whose last report is too long ago.

    A task is silent, too, if its target cannot be written to or read. So none is replaced until
    records have been written to the progress topic, and read from there, for some time.

    Args:
        writer: of the target.
        config: the flow, as it is now.
    """

    def __init__(self, bundles: Bundles, writer: Writer, config: Callable[[], FlowConfig]) -> None:
        self._bundles = bundles
        self._writer = writer
        self._config = config
        self._heard: dict[int, float] = {}
        # When bundles were seen to wait for an executor.
        self._waited: dict[int, float] = {}
        self._written, self._read = math.inf, -1
        self._round_trips = 0

    def heard(self, bundle: int) -> None:
        """The task of a bundle has reported."""
        self._heard[bundle] = asyncio.get_running_loop().time()

    def read(self, offset: int) -> None:
        """A record of the progress topic was read."""
        self._read = offset

    def are_late(self) -> bool:
        """Whether it is not known what some task does, although its job was submitted."""
        now = asyncio.get_running_loop().time()
        return any(
            now - max(began, self._heard.get(bundle, began)) > _LATE_AFTER_S
            for bundle, began in self._bundles.began().items()
        )

    async def run(self) -> None:
        """Looks until cancelled."""
        await run_periodically(_LOOK_EVERY_S, self.look, name="silent-tasks", at_once=False)

    async def look(self) -> None:
        """Replaces the tasks that are silent, once they surely could have reported."""
        silent = [each for each in self._silent() if await self._runs(each)]
        if not silent:
            self._forget_round_trips()
        elif await self._is_target_well():
            self._forget_round_trips()
            for bundle in silent:
                await self._replace(bundle)

    async def _runs(self, bundle: int) -> bool:
        if await self._bundles.is_running(bundle):
            return True
        self._waited[bundle] = asyncio.get_running_loop().time()
        return False

    async def _replace(self, bundle: int) -> None:
        # It may have gone on while others were replaced.
        if (for_s := self._silent().get(bundle)) is not None:
            log.error("bundle.silent", bundle=bundle, for_s=round(for_s))
            await self._bundles.restart([bundle], may_drain=False)

    async def _is_target_well(self) -> bool:
        self._round_trips = self._round_trips + 1 if self._read >= self._written else 0
        self._written = math.inf
        topic = self._config().herder.names.progress_topic
        try:
            self._written = await self._writer.send(topic, *_NO_EVENTS, partition=0)
        except ClusterError:
            self._round_trips = 0
        return self._round_trips >= _ROUND_TRIPS

    def _forget_round_trips(self) -> None:
        self._round_trips, self._written = 0, math.inf

    def _silent(self) -> dict[int, float]:
        """For how many seconds bundles were silent that have been for too long."""
        now, found = asyncio.get_running_loop().time(), {}
        after_s = silent_after_s(self._config().source.transforms)
        for bundle, submitted in self._bundles.began().items():
            began = max(submitted, self._waited.get(bundle, submitted))
            heard = self._heard.get(bundle, began)
            most_s = after_s if heard > began else max(after_s, _STARTS_WITHIN_S)
            if now - max(heard, began) > most_s:
                found[bundle] = now - max(heard, began)
        return found
