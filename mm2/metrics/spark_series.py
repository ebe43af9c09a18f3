"""The series of the Spark application of this node, where its tasks run on a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mm2.metrics.exposition import Family, Series, families, labels_of
from mm2.telemetry.spark_use import OF_PROCESS, SparkUse

OF_SPARK: Final[Sequence[Series[SparkUse]]] = (
    Series(
        "mm2_spark_executors",
        "Executors that the Spark cluster gives this node.",
        lambda each: each.executors,
    ),
    Series("mm2_spark_tasks_running", "Tasks of flows that run.", lambda each: each.running),
    Series(
        "mm2_spark_tasks_waiting",
        "Tasks of flows that wait for a core of an executor, and copy nothing meanwhile.",
        lambda each: each.waiting,
    ),
    Series(
        "mm2_spark_cores_missing",
        "Cores that flows could use beyond those they have, as of tasks.max: others copy instead.",
        lambda each: each.slots_missing,
    ),
    Series(
        "mm2_spark_executors_lost_total",
        "Executors that ended with a task in them, since this process began.",
        lambda each: each.lost,
        "counter",
    ),
    Series(
        "mm2_spark_tasks_moved_total",
        "Tasks that ended, and began again elsewhere, because their executor was decommissioned,"
        " since this process began.",
        lambda each: each.moved,
        "counter",
    ),
    Series(
        "mm2_spark_application_restarts_total",
        "How often the Spark application was made anew because the cluster did not know it, or"
        " gave no executor for long.",
        lambda each: each.restarts,
        "counter",
    ),
    Series(
        "mm2_spark_warm",
        "1 once the node's application has had an executor, also when that was idle and has gone"
        " back. It is 0 again when the node has waited for one for 30 s, until it has one. At 0 no"
        " flow is given to it that another node leads.",
        lambda each: int(each.is_warm),
    ),
)


def of_spark() -> Iterator[Family[SparkUse]]:
    """Those of this process; none where Spark runs in it."""
    use = OF_PROCESS.use
    yield from families(OF_SPARK, [] if use is None else [(labels_of({}), use)])
