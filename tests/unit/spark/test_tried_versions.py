"""Releases of Spark that were not tried are told of."""

from __future__ import annotations

import tomllib
from importlib.metadata import version
from pathlib import Path

import pyspark
import pytest
from packaging.requirements import Requirement
from structlog.testing import capture_logs

from flows.spark.tried_versions import TRIED, warn_if_untried

_PROJECT = Path(__file__).resolve().parents[3] / "pyproject.toml"


def test_pip_installs_the_releases_that_were_tried_and_no_other() -> None:
    project = tomllib.loads(_PROJECT.read_text())["project"]
    (wanted,) = [
        found
        for each in project["optional-dependencies"]["spark"]
        if (found := Requirement(each)).name == "pyspark"
    ]
    assert all(f"{minor}.0" in wanted.specifier for minor in TRIED)
    assert not [each for each in ("4.2.1", "4.4.0", "5.0.0") if each in wanted.specifier]
    assert version("pyspark") in wanted.specifier


def test_a_release_that_was_tried_is_no_news() -> None:
    with capture_logs() as logs:
        warn_if_untried(pyspark.__version__)
    assert logs == []


@pytest.mark.parametrize("other", ["4.2.1", "4.4.0", "3.5.1-vendor"])
def test_another_spark_than_those_that_were_tried_is_warned_of(other: str) -> None:
    with capture_logs() as logs:
        warn_if_untried(other)
    (entry,) = logs
    assert (entry["event"], entry["version"]) == ("spark.untried", other)


def test_another_pyspark_than_those_that_were_tried_is_warned_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.2.1")
    with capture_logs() as logs:
        warn_if_untried("4.3.0")
    assert [entry["event"] for entry in logs] == ["spark.untried"]
