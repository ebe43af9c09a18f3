"""The dashboard and the alert rules ask for what is exported."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
import yaml

from mm2.metrics.shipped import ALERTS, DASHBOARD, shipped
from tests.support.scrapes import Scrape, full_flow, scrape

_WORDS = {"by", "without", "or", "unless", "and", "on", "ignoring", "Inf", "bool", "offset"}
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SELECTOR = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*\{([^}]*)\}")
_GROUPING = re.compile(r"\b(?:by|without)\s*\(([^)]*)\)")
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


@pytest.fixture(scope="module")
def exported() -> Scrape:
    return scrape(full_flow())


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
    return set(scrape(full_flow()).all(name)[0].labels)


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
