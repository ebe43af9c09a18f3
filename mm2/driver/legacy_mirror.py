"""
A process of the legacy ``kafka-mirror-maker``: streams of a consumer group, as Spark tasks.

One stream that fails ends the process, as in Kafka's tool: the others commit what is acknowledged,
and a service manager starts it again.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import timedelta
from functools import partial
from typing import Final

import structlog

from flows.legacy.driver_link import StreamLinks
from flows.legacy.stream_spec import StreamSpec
from flows.legacy.stream_task import run_stream
from flows.spark.jobs import SparkJobs
from flows.spark.spark_job import JobFailed, SparkJob, password_keys
from mm2 import __version__
from mm2.config.connector_settings import ErrorSettings
from mm2.config.legacy.copy_plan import CopyPlan
from mm2.config.text.expressions import RESOLVED
from mm2.driver.level_switch import switching_levels
from mm2.driver.program import EXIT_HERDER, EXIT_START
from mm2.errors import FatalError
from mm2.metrics.stream_series import StreamMetrics
from mm2.stop_deadlines import STREAMS_S

log = structlog.get_logger()

_RETRY_DELAY: Final = timedelta(seconds=30)
_LOOPBACK: Final = "127.0.0.1"


class LegacyMirror:
    """
    Runs the streams of a process until it is stopped, or one of them fails.

    Args:
        plan: what the user wants.
        engine: runs the streams.
    """

    def __init__(self, plan: CopyPlan, engine: SparkJobs) -> None:
        self._plan = plan
        self._engine = engine
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Asks ``run`` to commit and end."""
        self._stop.set()

    async def run(self) -> int:
        """Runs until ``stop`` or a failure; returns the exit status."""
        plan, token = self._plan, secrets.token_hex()
        for warning in plan.warnings:
            log.warning("config.spelling", message=warning)
        streams = plan.arguments.streams
        log.info("streams.started", version=__version__, group=plan.group, streams=streams)
        metrics = StreamMetrics(plan.group)
        links = StreamLinks(token, metrics.take_progress)
        try:
            host, bound = self._addresses()
            port = await links.open(bound)
            specs = [self._spec(n, (host, port), token) for n in range(streams)]
            async with self._served(metrics):
                with switching_levels(links.log_these):
                    return await self._run(specs, links)
        except FatalError as error:
            log.critical("driver.failed", error=str(error))
            return EXIT_START
        finally:
            await links.close()
            await self._engine.stop()
            log.info("driver.stopped")

    async def _run(self, specs: list[StreamSpec], links: StreamLinks) -> int:
        if not await self._is_started():
            return 0
        streams = {
            asyncio.create_task(self._engine.run_job(_job(spec)), name=spec.name): spec
            for spec in specs
        }
        stopping = asyncio.create_task(self._stop.wait(), name="stop")
        await asyncio.wait({*streams, stopping}, return_when=asyncio.FIRST_COMPLETED)
        is_asked = self._stop.is_set()
        log.info("driver.stopping")
        links.stop()
        _, late = await asyncio.wait(streams, timeout=STREAMS_S)
        for each in (*late, stopping):
            each.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        totals = [_totals(each) for each in streams if each not in late]
        if late or not is_asked or any(each["failed"] for each in totals):
            return EXIT_HERDER
        return 0

    async def _is_started(self) -> bool:
        """Starts Spark; False if it was to stop meanwhile."""
        starting = asyncio.create_task(self._engine.start(), name="spark")
        stopping = asyncio.create_task(self._stop.wait(), name="stop")
        try:
            await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                starting.result()
            return starting.done()
        finally:
            starting.cancel()
            stopping.cancel()

    def _served(self, metrics: StreamMetrics) -> AbstractAsyncContextManager[None]:
        address = self._plan.arguments.metrics
        if address is None:
            return nullcontext()
        from mm2.rest.metrics_server import metrics_served  # noqa: PLC0415 - takes long, few use it

        return metrics_served(address, metrics.text)

    def _addresses(self) -> tuple[str, str]:
        """Where executors reach this process, and where it listens; as Spark's driver."""
        spark = self._engine.settings
        if spark["spark.master"].startswith("local"):
            return _LOOPBACK, _LOOPBACK
        host = spark.get("spark.driver.host") or socket.getfqdn()
        return host, spark.get("spark.driver.bindAddress") or host

    def _spec(self, index: int, driver: tuple[str, int], token: str) -> StreamSpec:
        plan = self._plan
        arguments = plan.arguments
        return StreamSpec(
            group=plan.group,
            index=index,
            source=_of_stream(plan.consumer.properties, index, arguments.streams),
            target=plan.producer.properties,
            data=plan.data,
            selection=plan.selection,
            errors=_errors(plan),
            commit_interval_s=arguments.commit_interval_ms / 1000,
            repartitions=arguments.repartitions,
            handler=arguments.handler,
            handler_args=arguments.handler_args,
            listener=arguments.listener,
            listener_args=arguments.listener_args,
            zookeeper=plan.zookeeper,
            driver=driver,
            token=token,
            reports=arguments.metrics is not None,
            hidden=RESOLVED.within(
                [*plan.consumer.properties.values(), *plan.producer.properties.values()]
            ),
        )


def _job(spec: StreamSpec) -> SparkJob[Mapping[str, int]]:
    zookeeper = spec.zookeeper and spec.zookeeper.tls
    passwords = password_keys(spec.source, spec.target, zookeeper or {})
    return SparkJob(spec.name, f"stream {spec.name}", partial(run_stream, spec), passwords)


def _errors(plan: CopyPlan) -> ErrorSettings:
    """KIP-3's switch in the terms of KIP-298."""
    return ErrorSettings(
        tolerates=not plan.arguments.aborts,
        dead_letter_topic=plan.arguments.dead_letter_topic,
        dead_letter_replication_factor=-1,
        context_headers=True,
        logs=True,
        logs_messages=False,
        retry_timeout=timedelta(0),
        retry_delay=_RETRY_DELAY,
    )


def _of_stream(properties: Mapping[str, str], index: int, streams: int) -> dict[str, str]:
    """Java's tool numbers its clients; static members must differ as well."""
    own = dict(properties)
    own["client.id"] = f"{properties.get('client.id') or properties['group.id']}-{index}"
    if "group.instance.id" in own and streams > 1:
        own["group.instance.id"] += f"-{index}"
    return own


def _totals(stream: asyncio.Task[Mapping[str, int]]) -> Mapping[str, int]:
    try:
        return stream.result()
    except JobFailed as error:
        log.error("stream.lost", stream=stream.get_name(), error=str(error))
        return {"failed": 1}
