"""How many records a mirror has copied so far."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Final, Self

from mm2.demo.processes import Watched
from mm2.demo.raw_cluster import RawCluster
from mm2.errors import Unavailable
from tests.harness.bench.mirrors import Stuck
from tests.harness.bench.workload import TOPIC

_LOOK_EVERY_S: Final = 0.03
_STUCK_AFTER_S: Final = 150.0
_THERE_WITHIN_S: Final = 30.0


class Copied:
    """
    Watches the copy of the workload's topic; an asynchronous context.

    Args:
        mirror: who copies.
        bootstrap: of the target.
        partitions: of the topic.
        copy: its name.
    """

    def __init__(
        self, mirror: Watched, bootstrap: str, partitions: int, *, copy: str = f"A.{TOPIC}"
    ) -> None:
        self._mirror = mirror
        self._target = RawCluster("B", bootstrap)
        self._topics = {copy: partitions}

    async def __aenter__(self) -> Self:
        until = time.monotonic() + _THERE_WITHIN_S
        while True:
            try:
                await self._target.__aenter__()
            except Unavailable:  # a broker that was frozen knows of none that serves for a while
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(_LOOK_EVERY_S)
            else:
                return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._target.__aexit__(kind, error, trace)

    async def reaches(self, records: int) -> int:
        """
        Waits until there are so many; returns how many there are then.

        Raises:
            Stuck: the mirror has ended, or copies nothing more.
        """
        seen, moved = -1, time.monotonic()
        while seen < records:
            copied = sum((await self._target.ends(self._topics)).values())
            if copied > seen:
                seen, moved = copied, time.monotonic()
            if self._mirror.status is not None:
                raise Stuck(f"it ended with status {self._mirror.status}")
            if time.monotonic() - moved > _STUCK_AFTER_S:
                raise Stuck(f"it stays at {seen} of {records} records")
            if seen < records:
                await asyncio.sleep(_LOOK_EVERY_S)
        return seen


def wait_for(mirror: Watched, bootstrap: str, partitions: int, records: int) -> None:
    """
    Waits until so many records are copied.

    Raises:
        Stuck: the mirror has ended, or copies nothing more.
    """

    async def wait() -> None:
        async with Copied(mirror, bootstrap, partitions) as copied:
            await copied.reaches(records)

    asyncio.run(wait())
