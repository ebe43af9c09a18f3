"""
The bundles of one flow: which partitions each has, and that each keeps running.

Assignments go to the control topic, where running tasks pick them up; a partition that came up
while the flow runs joins the lightest bundle, and nobody else notices. A bundle whose job ended
without being told to is submitted again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from math import inf
from typing import Final

import structlog

from mm2.core.assignment import pack
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import ClusterError
from mm2.herder.bundle import BundleSpec
from mm2.herder.control import Assignment, BundleState, encode_assignment
from mm2.herder.ports import BundleRunner
from mm2.herder.supervision import keep_running
from mm2.kafka.writer import Writer

log = structlog.get_logger()

STOP_WITHIN_S: Final = 17.0
_TELL_WITHIN_S: Final = 4.0


class Bundles:
    """
    Runs the bundles of one flow.

    Args:
        runner: runs single bundles.
        writer: of the target cluster, for the control topic.
        spec_of: makes the specification of bundle ``index``.
        control_topic: where assignments go.
        epoch: of this leader.
        tasks_max: most bundles.
    """

    def __init__(
        self,
        runner: BundleRunner,
        writer: Writer,
        *,
        spec_of: Callable[[int], BundleSpec],
        control_topic: str,
        epoch: int,
        tasks_max: int,
    ) -> None:
        self._runner = runner
        self._writer = writer
        self._spec_of = spec_of
        self._topic = control_topic
        self._epoch = epoch
        self._tasks_max = tasks_max
        self._generation = 0
        self._current: list[dict[TopicPartition, TopicName]] = []
        self._keepers: list[asyncio.Task[None]] = []
        self._stopping = asyncio.Event()
        self._is_abandoned = False

    async def assign(
        self,
        partitions: Mapping[TopicPartition, TopicName],
        group: asyncio.TaskGroup,
    ) -> None:
        """
        Gives all partitions to bundles, starting bundles in ``group`` as they are needed.

        Args:
            partitions: everything to copy, with the remote topics.
            group: owns the bundles' tasks.
        """
        # Nothing moves between running bundles: a partition in two of them would be copied twice.
        packed = pack(list(partitions), self._tasks_max, {}, self._current, tolerance=inf)
        wanted = [{source: partitions[source] for source in bundle} for bundle in packed]
        wanted += [{} for _ in range(len(self._current) - len(wanted))]
        self._generation += 1
        for index, bundle in enumerate(wanted):
            if index < len(self._current) and bundle == self._current[index]:
                continue
            await self._write(index, BundleState.RUNNING, bundle)
        for index in range(len(self._keepers), len(wanted)):
            task = group.create_task(self._keep(index), name=f"bundle-{index}")
            self._keepers.append(task)
        self._current = wanted
        log.info("flow.assigned", partitions=len(partitions), tasks=len(wanted))

    async def stop(self) -> None:
        """Lets every bundle drain and commit; one that takes too long is ended."""
        self._stopping.set()
        if not self._is_abandoned and await self._tell_to_stop() and self._keepers:
            await asyncio.wait(self._keepers, timeout=STOP_WITHIN_S)
        late = [task for task in self._keepers if not task.done()]
        for task in late:
            log.error("bundle.not_drained", bundle=task.get_name(), within_s=STOP_WITHIN_S)
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _tell_to_stop(self) -> bool:
        self._generation += 1
        try:
            async with asyncio.timeout(_TELL_WITHIN_S):
                for index in range(len(self._keepers)):
                    await self._write(index, BundleState.STOPPED, {})
        except (TimeoutError, ClusterError) as error:
            log.warning("bundle.stop_not_delivered", error=str(error))
            return False
        return True

    def abandon(self) -> None:
        """Ends all bundles at once: another leader has the flow and its control topic now."""
        self._is_abandoned = True
        self._stopping.set()
        for task in self._keepers:
            task.cancel()

    async def _keep(self, index: int) -> None:
        spec = self._spec_of(index)

        async def run() -> None:
            while not self._stopping.is_set():
                totals = await self._runner.run(spec)
                log.info("bundle.ended", bundle=spec.name, **totals)

        with structlog.contextvars.bound_contextvars(task=index):
            await keep_running(spec.name, run, stopping=self._stopping)

    async def _write(
        self, index: int, state: BundleState, bundle: Mapping[TopicPartition, TopicName]
    ) -> None:
        key, value = encode_assignment(
            Assignment(
                index=index,
                epoch=self._epoch,
                generation=self._generation,
                state=state,
                partitions=bundle,
            )
        )
        await self._writer.send(self._topic, key, value, partition=0)
