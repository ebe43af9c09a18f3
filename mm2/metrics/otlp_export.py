"""
Sends what a node exports to an OpenTelemetry collector: OTLP over HTTP with Protocol Buffers.

The series, their names and labels are those of ``/metrics``, from the same collection. Gauges are
gauges, counters are cumulative, monotonic sums without a start time, as they go on where another
node has left them. Needs the extra ``otel``: see ``otlp_installed``.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from http import HTTPStatus
from itertools import islice
from typing import Any, Final, Self

import requests
import structlog
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Metric,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from mm2 import __version__
from mm2.config.metrics_settings import OtlpSettings
from mm2.metrics.exposition import Family, Series
from mm2.metrics.otlp_installed import EXPORTER

log = structlog.get_logger()

MOST_POINTS: Final = 5_000
"""Of one request: some 1 MB, where collectors take 20 MB unless they are told otherwise."""

_TIMEOUT_S: Final = 10.0

Collect = Callable[[], Callable[[], Iterable[Family[Any]]]]
"""
Takes the figures of now, in the event loop; returns what renders them in a thread.
"""


class OtlpExport:
    """
    Sends metrics again and again.

    Args:
        collect: the series.
        settings: where to.
        node: names this node among the others.
    """

    def __init__(self, collect: Collect, settings: OtlpSettings, node: str) -> None:
        self._collect = collect
        self._settings = settings
        self._node = node
        self._is_taken: bool | None = None

    async def run(self) -> None:
        """Sends until cancelled."""
        exporter = _exporter(self._settings)
        try:
            while True:
                found = self._collect()
                problem = await _in_daemon_thread(partial(self._send, exporter, found))
                self._tell(problem)
                await asyncio.sleep(self._settings.interval_s)
        finally:
            exporter.shutdown()

    def _send(
        self, exporter: OTLPMetricExporter, found: Callable[[], Iterable[Family[Any]]]
    ) -> str | None:
        """Returns why the collector does not take them; None if it does."""
        with _Complaints() as complaints:
            for each in requests_of(found(), _resource(self._node), time.time_ns()):
                if exporter.export(each) is not MetricExportResult.SUCCESS:
                    return complaints.first or "no reason is known"
        return None

    def _tell(self, problem: str | None) -> None:
        """Logs when the collector begins to take metrics, and when it ceases to."""
        was_taken, self._is_taken = self._is_taken, problem is None
        if self._is_taken is was_taken:
            return
        if problem is None:
            log.info("metrics.exported", endpoint=self._settings.endpoint)
        else:
            log.warning("metrics.not_exported", endpoint=self._settings.endpoint, error=problem)


async def _in_daemon_thread(function: Callable[[], str | None]) -> str | None:
    """As ``asyncio.to_thread``; but a collector that does not answer delays no end of a process."""
    found: Future[str | None] = Future()

    def work() -> None:
        try:
            found.set_result(function())
        except Exception as error:  # noqa: BLE001 - raised where it is awaited
            found.set_exception(error)

    threading.Thread(target=work, name="metrics-otlp", daemon=True).start()
    return await asyncio.shield(asyncio.wrap_future(found))


def requests_of(
    families: Iterable[Family[Any]], resource: Resource, now_ns: int
) -> Iterator[MetricsData]:
    """The series in requests that collectors take."""
    metrics: list[Metric] = []
    room = MOST_POINTS
    for family in families:
        points = _points(family, now_ns)
        while some := list(islice(points, room)):
            metrics.append(_metric(family.series, some))
            room -= len(some)
            if not room:
                yield _data(resource, metrics)
                metrics, room = [], MOST_POINTS
    if metrics:
        yield _data(resource, metrics)


def _points(family: Family[Any], now_ns: int) -> Iterator[NumberDataPoint]:
    for labels, value in family.samples():
        yield NumberDataPoint(
            attributes=labels.values,
            start_time_unix_nano=0,
            time_unix_nano=now_ns,
            # A series whose points change their type would be two for some backends.
            value=float(value),
        )


def _metric(series: Series[Any], points: list[NumberDataPoint]) -> Metric:
    data = (
        Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)
        if series.kind == "counter"
        else Gauge(points)
    )
    return Metric(name=series.name, description=series.doc, unit="", data=data)


def _data(resource: Resource, metrics: list[Metric]) -> MetricsData:
    scope = ScopeMetrics(InstrumentationScope("mm2", __version__), metrics, schema_url="")
    return MetricsData([ResourceMetrics(resource, [scope], schema_url="")])


def _resource(node: str) -> Resource:
    """Names the node; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come first."""
    own = {"service.name": "mm2", "service.version": __version__, "service.instance.id": node}
    return Resource(own).merge(OTELResourceDetector().detect())


def _exporter(settings: OtlpSettings) -> OTLPMetricExporter:
    return OTLPMetricExporter(
        endpoint=settings.endpoint,
        headers=dict(settings.headers),
        timeout=_TIMEOUT_S,
        compression=Compression.Gzip,
        session=_session(),
    )


def _session() -> requests.Session:
    """The exporter follows no redirect, and would take one for success."""
    session = requests.Session()
    session.hooks["response"].append(_refuse_redirect)
    return session


def _refuse_redirect(response: requests.Response, *_: object, **__: object) -> None:
    if HTTPStatus.MULTIPLE_CHOICES <= response.status_code < HTTPStatus.BAD_REQUEST:
        message = f"{response.status_code}: a redirect, which would take the headers elsewhere"
        raise requests.TooManyRedirects(message)


class _Complaints(logging.Handler):
    """What the exporter logs meanwhile: it returns no reasons."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._logger = logging.getLogger(EXPORTER)
        self.first = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.first = self.first or record.getMessage()

    def __enter__(self) -> Self:
        self._logger.propagate = False
        self._logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
