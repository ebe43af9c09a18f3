"""The dashboard and the alert rules ask for what is exported."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml

from mm2.metrics.shipped import ALERTS, DASHBOARD, shipped
from mm2.metrics.spark_series import OF_SPARK
from mm2.telemetry.event_counts import SYNC_FAILURES
from mm2.telemetry.events import EVENTS
from mm2.telemetry.spark_use import OF_PROCESS, SparkUse
from tests.support.promtool import NEEDS_PROMTOOL, promtool
from tests.support.scrapes import Scrape, full_flow, scrape

_WORDS = {"by", "without", "or", "unless", "and", "on", "ignoring", "Inf", "bool", "offset"}
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SELECTOR = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*\{([^}]*)\}")
_GROUPING = re.compile(r"\b(?:by|without)\s*\(([^)]*)\)")
_OF_PROMETHEUS: Final = {"instance", "job"}
"""Labels that Prometheus adds to what it scrapes."""
_NAME = re.compile(r"(?<![\w:$])[a-zA-Z_:][a-zA-Z0-9_:]*(?!\s*\()(?![\w:])")


def _queries() -> Iterator[str]:
    dashboard = json.loads(shipped(DASHBOARD))
    for panel in dashboard["panels"]:
        yield from (each["expr"] for each in panel.get("targets", ()))
    for variable in dashboard["templating"]["list"]:
        found = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"])
        if found is not None:
            yield f"sum by ({found[2]}) ({found[1]})"
    for group in yaml.safe_load(shipped(ALERTS))["groups"]:
        yield from (rule["expr"] for rule in group["rules"])


def _names_and_labels(query: str) -> tuple[set[str], set[str]]:
    """The series that a query reads, and the labels that it selects or groups by."""
    bare = _STRING.sub('""', query)
    labels = {each.strip() for found in _GROUPING.findall(bare) for each in found.split(",")}
    for _, matchers in _SELECTOR.findall(bare):
        labels |= set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers))
    rest = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", _GROUPING.sub("", bare))
    return set(_NAME.findall(rest)) - _WORDS, labels


def _scraped() -> Scrape:
    """What a node exports whose tasks run on a Spark cluster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OF_PROCESS, "use", SparkUse(3, 2, 1, 4, 5, 7, 6, is_warm=True))
        return scrape(full_flow())


@pytest.fixture(scope="module")
def exported() -> Scrape:
    return _scraped()


def test_the_tokenizer_finds_names_and_labels() -> None:
    query = (
        'topk(3, sum by (a, b) (rate(x_total{c=~"y|z{"}[5m]))) > 1 or vector(0) unless z == +Inf'
    )
    assert _names_and_labels(query) == ({"x_total", "z"}, {"a", "b", "c"})


@pytest.mark.parametrize("query", sorted(set(_queries())))
def test_every_query_finds_its_series_and_labels(query: str, exported: Scrape) -> None:
    names, labels = _names_and_labels(query)
    assert names
    for name in names:
        samples = exported.all(name)
        assert samples, f"{name} is not exported"
        assert labels <= samples[0].labels.keys()


def test_rules_say_what_is_wrong_and_how_bad_it_is() -> None:
    (group,) = yaml.safe_load(shipped(ALERTS))["groups"]
    for rule in group["rules"]:
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"].keys() == {"summary", "description"}
        used = re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"]))
        assert set(used) <= _labels_after(rule["expr"])
    names = [rule["alert"] for rule in group["rules"]]
    assert len(names) == len(set(names))


def _labels_after(query: str) -> set[str]:
    """The labels that the result of a query has."""
    grouped = [set(re.findall(r"\w+", each)) for each in _GROUPING.findall(query)]
    if grouped:
        return set.intersection(*grouped)
    (name,) = _names_and_labels(query)[0]
    return _OF_PROMETHEUS | set(_scraped().all(name)[0].labels)


def test_rules_about_events_read_counts_that_begin_at_zero() -> None:
    """Prometheus sees no increase of a series that is not there before it."""
    rules = yaml.safe_load(shipped(ALERTS))["groups"][0]["rules"]
    named = {each for rule in rules for each in re.findall(r'event=~?"([^"]+)"', rule["expr"])}
    assert {event for each in named for event in each.split("|")} == {*SYNC_FAILURES}
    assert {*SYNC_FAILURES} <= EVENTS.keys()


def test_panels_lie_side_by_side() -> None:
    places = set[tuple[int, int]]()
    for panel in json.loads(shipped(DASHBOARD))["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & places, panel["title"]
        places |= cells


def test_all_that_is_known_of_a_spark_cluster_is_drawn() -> None:
    drawn = {name for query in _queries() for name in _names_and_labels(query)[0]}
    assert {series.name for series in OF_SPARK} <= drawn


@NEEDS_PROMTOOL
def test_prometheus_takes_the_rules(tmp_path: Path) -> None:
    rules = tmp_path / ALERTS
    rules.write_text(shipped(ALERTS))
    promtool("check", "rules", rules)


@NEEDS_PROMTOOL
def test_prometheus_understands_every_query(tmp_path: Path) -> None:
    """Each is written as a rule; Grafana's variables stand for texts."""
    rules = tmp_path / "queries.yml"
    queries = [{"record": f"query:{n}", "expr": each} for n, each in enumerate(_queries())]
    rules.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": queries}]}))
    promtool("check", "rules", rules)


@NEEDS_PROMTOOL
def test_tasks_that_wait_for_spark_raise_an_alert_with_the_name_of_the_node(
    tmp_path: Path,
) -> None:
    (tmp_path / ALERTS).write_text(shipped(ALERTS))
    waiting = {"series": 'mm2_spark_tasks_waiting{instance="n1", job="mm2"}', "values": "2x20"}
    lost = {"series": 'mm2_spark_executors_lost_total{instance="n1", job="mm2"}', "values": "0x20"}
    raised = {
        "exp_labels": {"severity": "critical", "instance": "n1", "job": "mm2"},
        "exp_annotations": {
            "summary": "Tasks of n1 wait for cores of the Spark cluster",
            "description": "2 of them copy nothing. Look whether the cluster has workers, and what"
            " else it runs.",
        },
    }
    alerts = [
        {"eval_time": "9m", "alertname": "MirrorTasksWaitForSpark", "exp_alerts": []},
        {"eval_time": "11m", "alertname": "MirrorTasksWaitForSpark", "exp_alerts": [raised]},
        {"eval_time": "11m", "alertname": "MirrorSparkExecutorsLost", "exp_alerts": []},
    ]
    case = {"interval": "1m", "input_series": [waiting, lost], "alert_rule_test": alerts}
    tests = tmp_path / "tests.yml"
    tests.write_text(yaml.safe_dump({"rule_files": [ALERTS], "tests": [case]}))
    promtool("test", "rules", tests)
