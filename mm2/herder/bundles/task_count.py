"""How many tasks a flow is to have, as its file and what Spark gives say."""

from __future__ import annotations

import os
import time
from collections.abc import Container

import structlog

from mm2.config.flow_config import FlowConfig
from mm2.core.balancing.auto_task_count import AutoTaskCount
from mm2.core.balancing.spark_slots import DEFAULT_MASTER, is_in_process
from mm2.core.model import TopicPartition
from mm2.protocol.progress_records import BundleProgress
from mm2.slot_allocation import FlowSlots

log = structlog.get_logger()


class TaskCount:
    """
    Follows the load of a flow with ``tasks.max=auto``; else it is ``tasks.max``.

    Args:
        earlier: tasks that an earlier leader had.
    """

    def __init__(self, earlier: int) -> None:
        self._load = AutoTaskCount(tasks=max(1, earlier))

    def most(self, config: FlowConfig, slots: FlowSlots, partitions: int) -> int:
        """Into how many bundles to divide the partitions; asks for slots for them."""
        if config.source.tasks_max is not None:
            most = slots.most(config.source.tasks_max, partitions)
            self._load.tasks = max(1, min(most, partitions))
            return most
        if partitions:  # Else it is not known yet which the flow has.
            self._load.most = _useful(config, partitions)
            self._load.tasks = max(1, slots.request(min(self._load.tasks, self._load.most)))
        return self._load.tasks

    def observe(self, progress: BundleProgress) -> None:
        """Learns how far a task is."""
        for each in progress.partitions:
            # One that stopped is behind, however many tasks there are.
            lag = 0 if each.error else each.lag
            self._load.observe(each.source, position=each.position, lag=lag)

    def keep(self, partitions: Container[TopicPartition]) -> None:
        """Learns which partitions the flow has."""
        self._load.keep(partitions)

    def look(self) -> bool:
        """Whether the load asks for another number of tasks than before."""
        before = self._load.tasks
        if not self._load.look(time.monotonic()):
            return False
        log.info(
            "flow.tasks_changed",
            tasks=self._load.tasks,
            before=before,
            lag=self._load.lag,
            offsets_per_s=round(self._load.rate),
        )
        return True


def _useful(config: FlowConfig, partitions: int) -> int:
    """On this machine one task for each core at most; a cluster says itself how many it has."""
    if is_in_process(config.spark.get("spark.master", DEFAULT_MASTER)):
        return min(partitions, len(os.sched_getaffinity(0)))
    return partitions
