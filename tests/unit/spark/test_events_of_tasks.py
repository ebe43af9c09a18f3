"""Log events of tasks are copied where the driver does not hear what tasks print."""

from __future__ import annotations

from typing import Any

import pytest

from flows.spark.engine import SparkEngine
from flows.spark.jvm import Jvm
from mm2.protocol.bundle_spec import BundleSpec
from tests.support.specs import sample_spec


class _Own(Jvm):
    def __init__(self) -> None:
        """It is not started."""


class _OfSparkSubmit(_Own):
    is_own = False


@pytest.mark.parametrize(
    ("master", "jvm", "copies"),
    [
        ("local[2]", None, False),
        ("local[2]", _Own(), False),
        ("local[2]", _OfSparkSubmit(), True),
        ("spark://127.0.0.1:1", _Own(), True),
    ],
    ids=["jvm-to-come", "own-jvm", "spark-submit", "cluster"],
)
async def test_they_are_copied_where_standard_error_is_not_the_drivers(
    monkeypatch: pytest.MonkeyPatch, master: str, jvm: Jvm | None, *, copies: bool
) -> None:
    seen: list[bool] = []

    def task(spec: BundleSpec) -> dict[str, int]:
        seen.append(spec.copies_events)
        return {}

    async def run_job(job: Any) -> Any:
        return job.work()

    engine = SparkEngine({"spark.master": master}, task=task, jvm=jvm)
    monkeypatch.setattr(engine, "run_job", run_job)
    await engine.run(sample_spec())
    assert seen == [copies]
