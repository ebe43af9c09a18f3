"""
How mm2 copies on a standalone cluster of Spark, with executors of one core or of more.

Master, workers and brokers share the machine. CPU of master and workers is nobody's here: they
belong to the cluster.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from tests.harness.bench import throughput
from tests.harness.bench.measurements import Numbers
from tests.harness.bench.memory import watched
from tests.harness.bench.mirrors import OURS, Stuck, executors_of
from tests.harness.bench.throughput import Conditions
from tests.harness.bench.workload import Workload
from tests.support.spark_cluster import SparkCluster

_LOOK_EVERY_S: Final = 1.0
"""To look at shared pages takes time of cores that are measured."""


@dataclass(frozen=True, slots=True)
class Executors:
    """
    The executors of a mirror, each on a worker of its own.

    Attributes:
        count: how many there are.
        cores: of each; it runs a task on each of them.
    """

    count: int
    cores: int

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.count} of {self.cores} core{'s' * (self.cores > 1)}"


DEFAULTS: Final = (Executors(1, 1), Executors(2, 1), Executors(1, 2), Executors(4, 1))


def of_argument(text: str) -> Executors:
    """
    The type of an argument such as ``4x1``: four executors of one core.

    Raises:
        ArgumentTypeError: it is another text.
    """
    found = re.fullmatch(r"([1-9][0-9]*)x([1-9][0-9]*)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not like 4x1")
    return Executors(int(found[1]), int(found[2]))


def measure_executors(executors: Executors, workload: Workload, scale: float) -> Numbers:
    """
    Rates and costs of copying a workload, and the memory of an executor at its peak.

    Raises:
        Stuck: the mirror does not get on, or there was another number of executors.
    """
    with SparkCluster(workers=executors.count, cores=executors.cores) as spark:
        workers = [worker.pid for worker in spark.workers]
        conditions = Conditions(
            tasks=executors.count * executors.cores,
            scale=scale,
            settings=_settings(spark, executors),
        )
        peer = replace(OURS, workers=workers)
        with watched(partial(executors_of, workers), _LOOK_EVERY_S) as peak:
            numbers = throughput.measure(workload, [peer], conditions)[peer.name]
        started = len([*spark.home.glob("work/app-*/*")])
    if started != executors.count:
        raise Stuck(f"{started} executors were started, not {executors.count}")
    return {
        **numbers,
        "JVM_mb": peak.kinds["executors"] / executors.count,
        "tasks_mb": peak.kinds["tasks"] / executors.count,
        "pss_mb": peak.pss / executors.count,
    }


def _settings(spark: SparkCluster, executors: Executors) -> str:
    settings = {**spark.application, "spark.executor.cores": f"{executors.cores}"}
    return "".join(f"{key} = {value}\n" for key, value in settings.items())
