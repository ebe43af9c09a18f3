"""One scrape: everything that a node exports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.samples import Sample

from mm2 import __version__
from mm2.clock import now_ms
from mm2.config.metrics_settings import MetricsSettings
from mm2.herder.view.led_flow import LedFlow
from mm2.metrics import connect_series, java_series, own_series
from mm2.metrics.copy_series import of_copies
from mm2.metrics.event_series import of_events
from mm2.metrics.exposition import Family, Series, families, labels_of
from mm2.metrics.groups import MeteredGroup, groups_of
from mm2.metrics.own_series import Cut
from mm2.metrics.partitions import Flow, Partition, flow_of, partitions_of
from mm2.metrics.spark_series import of_spark
from mm2.metrics.tasks import MeteredConnector, MeteredTask, connectors_of, source_tasks_of


class Metrics:
    """
    What a node exports.

    Args:
        led: the flows that it leads now.
        settings: what is exported beside the usual.
    """

    def __init__(self, led: Callable[[], Sequence[LedFlow]], settings: MetricsSettings) -> None:
        self._led = led
        self._settings = settings

    async def scrape(self) -> str:
        """All series as text; rendered in a thread, because thousands of partitions take long."""
        found = self.collect()
        return await asyncio.to_thread(lambda: "".join(each.text() for each in found()))

    def collect(self) -> Callable[[], Iterator[Family[Any]]]:
        """
        Looks at the flows now, where nothing else changes what is known of them.

        What it returns may be called in another thread.
        """
        return partial(exported, seen_now(self._led(), self._settings, now_ms()), self._settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Flows at one moment, with what they consist of; snapshots of them go on changing."""

    flows: Sequence[Flow]
    connectors: Sequence[MeteredConnector]
    tasks: Sequence[MeteredTask]
    partitions: Sequence[Partition]
    groups: Sequence[MeteredGroup]
    cuts: Sequence[Cut]


def seen_now(led: Sequence[LedFlow], settings: MetricsSettings, time_ms: int) -> Seen:
    """What flows consist of; to be called where nothing else changes their snapshots."""
    flows = [flow_of(each, time_ms) for each in led]
    groups: list[MeteredGroup] = []
    cuts: list[Cut] = []
    for flow in flows:
        kept, others = groups_of(flow, settings.most_groups)
        groups += kept
        cuts.append(Cut(flow, others))
    return Seen(
        flows=flows,
        connectors=[each for flow in flows for each in connectors_of(flow)],
        tasks=[each for flow in flows for each in source_tasks_of(flow)],
        partitions=[each for flow in flows for each in partitions_of(flow)],
        groups=groups,
        cuts=cuts,
    )


def exported(seen: Seen, settings: MetricsSettings) -> Iterator[Family[Any]]:
    """The series of flows and of this process."""
    yield from connect_series.of_connect(seen.connectors, seen.tasks, seen.partitions, settings)
    yield from java_series.of_partitions(seen.partitions, settings)
    yield from java_series.of_groups(seen.groups, settings)
    yield from own_series.of_flows(seen.flows, seen.connectors, seen.tasks)
    yield from of_copies(seen.partitions)
    yield from own_series.of_partitions(seen.partitions)
    yield from own_series.of_groups(seen.groups, seen.cuts)
    yield from of_spark()
    yield from of_events()
    yield from _of_process()


def _of_process() -> Iterator[Family[Sample]]:
    for metric in _process().collect():
        for name in dict.fromkeys(each.name for each in metric.samples):
            series: Series[Sample] = Series(name, metric.documentation, lambda each: each.value)
            found = (each for each in metric.samples if each.name == name)
            yield from families(
                [series.named(name)], ((labels_of(each.labels), each) for each in found)
            )


@cache
def _process() -> CollectorRegistry:
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    release = Gauge("mm2_build_info", "1: the release of mm2.", ["version"], registry=registry)
    release.labels(__version__).set(1)
    return registry
