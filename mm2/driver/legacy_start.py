"""How the legacy tool starts: its arguments are checked, then what all programs have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mm2.config.legacy import flags
from mm2.config.legacy.copy_plan import ArgumentErrors, CopyPlan
from mm2.core.balancing.spark_slots import slot_limit, slots_of
from mm2.driver.start import foreground
from mm2.errors import ConfigError

if TYPE_CHECKING:  # It would bring everything with it that is imported later.
    from flows.spark.jobs import SparkJobs
    from mm2.driver.mirror_maker import Engine
    from mm2.driver.signals import StopSignals


def run_legacy_mirror(plan: CopyPlan) -> int:
    """
    Copies in the foreground until a signal or a failure; returns the exit status.

    Raises:
        ArgumentErrors: what only shows when settings are used is wrong.
        FatalError: there is no PySpark or no Java.
    """

    def main(engine: Engine, signals: StopSignals) -> int:
        from mm2.driver.legacy_mirror import LegacyMirror  # noqa: PLC0415
        from mm2.driver.program import run_program  # noqa: PLC0415

        jobs = cast("SparkJobs", engine)
        _check(plan, jobs)
        return run_program(lambda: LegacyMirror(plan, jobs), signals)

    return foreground(main, spark=plan.spark, task_module="flows.legacy.stream_task")


def _check(plan: CopyPlan, jobs: SparkJobs) -> None:
    from mm2.core.user_objects import load_object  # noqa: PLC0415
    from mm2.kafka.client_settings import client_mistakes  # noqa: PLC0415
    from mm2.kafka.librdkafka_settings import group_member_mistakes  # noqa: PLC0415

    arguments = plan.arguments
    reader, writer = plan.consumer, plan.producer
    reads = {
        each.message: each
        for each in (
            *client_mistakes(reader.properties),
            *group_member_mistakes(reader.properties),
        )
    }
    writes = client_mistakes(writer.properties)
    found = [(arguments.consumer, each) for each in reader.located(reads.values())]
    found += [(arguments.producer, each) for each in writer.located(writes)]
    found += [
        (f"{arguments.consumer}: zookeeper.connect with TLS", mistake)
        for mistake in _tls_mistakes(plan)
    ]
    for flag, path in (
        (flags.HANDLER, arguments.handler),
        (flags.LISTENER, arguments.listener),
    ):
        if path is not None:
            try:
                load_object(path)
            except ConfigError as error:
                found.append((flag, error))
    found += [("", mistake) for mistake in _too_many_streams(plan.arguments.streams, jobs)]
    if found:
        raise ArgumentErrors(found)


def _too_many_streams(streams: int, jobs: SparkJobs) -> list[ConfigError]:
    """A stream runs until the end: one for which Spark has no room would never begin."""
    settings = jobs.settings
    key, remedy = "spark.master", "Leave spark.master and spark.task.cpus out"
    room = slots_of(settings[key], settings.get("spark.task.cpus", "1"))
    if room is None and (limit := slot_limit(settings)) is not None:
        room, key, remedy = limit.count, limit.key, f"Raise {limit.key}"
    if room is None or streams <= room:
        return []
    message = (
        f"{flags.STREAMS} {streams}: Spark runs {room} at the same time with {key}={settings[key]}."
        f" {remedy}, or have fewer streams."
    )
    return [ConfigError(message, key=flags.STREAMS, value=str(streams))]


def _tls_mistakes(plan: CopyPlan) -> list[ConfigError]:
    from mm2.kafka.security.tls import tls_context  # noqa: PLC0415

    try:
        if plan.zookeeper is not None and plan.zookeeper.tls is not None:
            tls_context(plan.zookeeper.tls)
    except ConfigError as error:
        return [error]
    return []
