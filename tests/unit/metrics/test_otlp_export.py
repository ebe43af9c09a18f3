"""What an OpenTelemetry collector gets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import chain

import pytest
from opentelemetry.sdk.resources import Resource
from structlog.testing import capture_logs

from mm2.config.metrics_settings import (
    MetricsSettings,
    OtlpSettings,
    metrics_of_file,
    read_metrics,
)
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.text.properties import parse_text
from mm2.driver.file_validation import validate
from mm2.errors import ConfigError
from mm2.herder.view.led_flow import LedFlow
from mm2.metrics import otlp_installed
from mm2.metrics.exposition import Family, Series, labels_of
from mm2.metrics.otlp_export import MOST_POINTS, OtlpExport, requests_of
from mm2.metrics.otlp_installed import require_otlp
from mm2.metrics.scrape import exported, seen_now
from tests.support.configs import TWO_CLUSTERS_TEXT
from tests.support.eventually import eventually
from tests.support.otlp import OtlpReceiver
from tests.support.scrapes import full_flow, scrape
from tests.support.seen_flow import NOW

SECRET = "Bearer g3h31m"
PROVIDERS = "org.apache.kafka.common.config.provider"


@asynccontextmanager
async def _sending(receiver: OtlpReceiver) -> AsyncIterator[None]:
    """A node that leads a flow sends its metrics, a hundred times a second."""
    flow, of = full_flow(), MetricsSettings()
    seen = seen_now([LedFlow(flow.config, flow.snapshot)], of, NOW)
    read = read_metrics(
        {"metrics.otlp.endpoint": receiver.url, "metrics.otlp.headers": f"Authorization={SECRET}"}
    )
    assert read.otlp is not None
    settings = OtlpSettings(endpoint=read.otlp.endpoint, headers=read.otlp.headers, interval_s=0.01)
    task = asyncio.create_task(
        OtlpExport(lambda: partial(exported, seen, of), settings, "node-1").run()
    )
    try:
        yield
    finally:
        if task.done():
            task.result()
        task.cancel()
        await asyncio.wait([task])


async def _logged(events: Sequence[Mapping[str, object]], name: str) -> Mapping[str, object]:
    def look() -> Mapping[str, object]:
        found = [each for each in events if each["event"] == name]
        return found[0]

    return await asyncio.to_thread(eventually, look)


async def test_a_collector_gets_the_series_of_a_scrape() -> None:
    with OtlpReceiver() as receiver, capture_logs() as events:
        async with _sending(receiver):
            await _logged(events, "metrics.exported")
    first = receiver.received[0]
    assert first.path == "/v1/metrics"
    assert first.headers["authorization"] == SECRET
    assert first.resource["service.name"] == "mm2"
    assert first.resource["service.instance.id"] == "node-1"
    of_flows = {
        (each.name, tuple(sorted(each.labels.items()))): each.value
        for each in scrape(full_flow()).samples
        if not each.name.startswith(("process_", "python_"))
    }
    assert of_flows.items() <= first.values.items()
    names = {name for name, _ in first.values}
    assert "process_cpu_seconds_total" in names
    assert names == scrape(full_flow()).names


async def test_counters_are_monotonic_sums_and_all_else_gauges() -> None:
    with OtlpReceiver() as receiver, capture_logs() as events:
        async with _sending(receiver):
            await _logged(events, "metrics.exported")
    kinds = {each.name: each.WhichOneof("data") for each in receiver.received[0].metrics}
    assert {name for name, kind in kinds.items() if kind == "sum"} == {
        name for name in kinds if name.endswith("_total")
    }
    assert set(kinds.values()) == {"sum", "gauge"}
    (lost,) = [
        each.sum
        for each in receiver.received[0].metrics
        if each.name == "mm2_partition_lost_records_total"
    ]
    assert lost.is_monotonic
    assert lost.aggregation_temporality == 2, "cumulative"


async def test_a_collector_that_refuses_is_told_of_once_and_asked_again() -> None:
    with OtlpReceiver(status=401) as receiver, capture_logs() as events:
        async with _sending(receiver):
            told = await _logged(events, "metrics.not_exported")
            await asyncio.to_thread(eventually, lambda: len(receiver.received) > 2)
            receiver.status = 200
            await _logged(events, "metrics.exported")
    assert "401" in str(told["error"])
    assert [each["event"] for each in events] == ["metrics.not_exported", "metrics.exported"]
    assert "g3h31m" not in str(events)


def test_a_collector_that_does_not_answer_delays_no_end() -> None:
    with OtlpReceiver() as receiver:
        receiver.answers.clear()

        async def send_and_end() -> None:
            async with _sending(receiver):
                await asyncio.to_thread(eventually, lambda: receiver.received[0])

        asyncio.run(send_and_end())  # Ends the threads of the loop, too.
        assert not receiver.answers.is_set()
        waiting = {each.name for each in threading.enumerate()}
        assert "metrics-otlp" in waiting, "the end did not wait for the answer"


async def test_a_redirect_is_not_followed() -> None:
    with OtlpReceiver(status=307) as receiver, capture_logs() as events:
        async with _sending(receiver):
            told = await _logged(events, "metrics.not_exported")
    assert "307: a redirect" in str(told["error"])
    assert {each.path for each in receiver.received} == {"/v1/metrics"}


def test_many_series_are_sent_in_several_requests() -> None:
    series: Series[int] = Series("a", "doc", float)
    things = [(labels_of({"n": n}), n) for n in range(2 * MOST_POINTS + 7)]
    family = Family(series, things)
    found = [
        [
            (metric.name, point.attributes["n"])
            for metric in each.resource_metrics[0].scope_metrics[0].metrics
            for point in metric.data.data_points
            if point.attributes is not None
        ]
        for each in requests_of([family, family], Resource({}), 1)
    ]
    assert [len(each) for each in found] == [MOST_POINTS] * 4 + [14]
    assert [*chain(*found)] == [("a", str(n)) for _ in range(2) for _, n in things]


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("http://c:4318", "http://c:4318/v1/metrics"),
        ("https://c/", "https://c/v1/metrics"),
        ("https://c/api/otlp", "https://c/api/otlp"),
    ],
)
def test_an_endpoint_without_a_path_gets_otlps(written: str, url: str) -> None:
    found = read_metrics({"metrics.otlp.endpoint": written})
    assert found.otlp == OtlpSettings(endpoint=url, interval_s=60)


def test_without_an_endpoint_nothing_is_sent() -> None:
    assert read_metrics({"metrics.otlp.interval.ms": "5000"}).otlp is None


def test_headers_and_interval_are_read() -> None:
    found = read_metrics(
        {
            "metrics.otlp.endpoint": "http://c",
            "metrics.otlp.headers": "Authorization=Basic dXNlcjpwYXNz, x-tenant = a=b",
            "metrics.otlp.interval.ms": "5000",
        }
    ).otlp
    assert found is not None
    assert found.headers == {"Authorization": "Basic dXNlcjpwYXNz", "x-tenant": "a=b"}
    assert found.interval_s == 5
    assert "dXNlcjpwYXNz" not in repr(found)


def test_expressions_of_a_file_are_resolved() -> None:
    raw = {
        "clusters": "A,B",
        "config.providers": "env",
        "config.providers.env.class": f"{PROVIDERS}.EnvVarConfigProvider",
        "metrics.otlp.endpoint": "http://c",
        "metrics.otlp.headers": "Authorization=Bearer ${env:TOKEN}",
    }
    found = metrics_of_file(MirrorMakerConfig(raw=raw, environment={"TOKEN": "g3h31m"})).otlp
    assert found is not None
    assert found.headers == {"Authorization": SECRET}


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("metrics.otlp.endpoint", "collector:4318", "must be a URL such as"),
        ("metrics.otlp.endpoint", "grpc://collector:4317", "must be a URL such as"),
        ("metrics.otlp.headers", "a=1,s3cret", "header 2 is not name=value"),
        ("metrics.otlp.interval.ms", "10", "must be at least 1000"),
    ],
)
def test_mistakes_are_found_with_their_lines_and_without_secrets(
    key: str, value: str, told: str
) -> None:
    clusters = TWO_CLUSTERS_TEXT
    text = f"{clusters}{key} = {value}\n"
    problems = [each.problem for each in validate(parse_text(text)) if each.problem.key == key]
    assert [(each.line, told in each.message) for each in problems] == [(4, True)]
    assert "s3cret" not in str(problems[0])


def test_a_missing_extra_is_told_of_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read_metrics({"metrics.otlp.endpoint": "http://c"})
    require_otlp(settings)
    monkeypatch.setattr(otlp_installed, "EXPORTER", "no_such_package.exporter")
    with pytest.raises(ConfigError, match=r"pip install 'mm2\[otel\]'"):
        require_otlp(settings)
    require_otlp(MetricsSettings())
