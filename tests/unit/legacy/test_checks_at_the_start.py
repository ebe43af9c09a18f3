"""What ``kafka-mirror-maker`` refuses before it connects to anything."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from flows.spark.jobs import SparkJobs
from mm2.config.legacy.copy_plan import ArgumentErrors, read_copy_plan
from mm2.driver import legacy_start

Refused = Callable[..., list[str]]
_NO_SIGNALS: Any = None


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refused:
    """Starts with flags and files; returns what is wrong with them, none if it would run."""

    def at_once(main: Callable[..., int], *, spark: Mapping[str, str], **_: object) -> int:
        return main(SparkJobs(spark), _NO_SIGNALS)

    monkeypatch.setattr(legacy_start, "foreground", at_once)
    monkeypatch.setattr("mm2.driver.program.run_program", lambda *_: 0)

    def start(*words: str, consumer: str = "", producer: str = "") -> list[str]:
        files = {"consumer": f"group.id=g\n{consumer}", "producer": producer}
        flags = []
        for name, text in files.items():
            (tmp_path / name).write_text(f"bootstrap.servers=a:1\n{text}")
            flags += [f"--{name}.config", str(tmp_path / name)]
        try:
            legacy_start.run_legacy_mirror(read_copy_plan([*flags, "--include", "t", *words]))
        except ArgumentErrors as errors:
            return [line.replace(f"{tmp_path}/", "") for line in errors.lines]
        return []

    return start


@pytest.mark.parametrize(
    ("spark", "streams"),
    [("spark.master=local[2]", 2), ("spark.master=spark://m:7077", 9), ("", 9)],
)
def test_streams_for_which_spark_may_have_room_start(
    refused: Refused, spark: str, streams: int
) -> None:
    assert refused("--num.streams", str(streams), consumer=spark) == []


@pytest.mark.parametrize(
    ("spark", "room"),
    [
        ("spark.master=local", 1),
        ("spark.master=local[2]", 2),
        ("spark.master=local[5]\nspark.task.cpus=2", 2),
        ("spark.master=local[*]", os.cpu_count() or 1),
    ],
)
def test_a_stream_for_which_spark_has_no_room_is_refused(
    refused: Refused, spark: str, room: int
) -> None:
    (line,) = refused("--num.streams", str(room + 1), producer=spark)
    assert line.startswith(f"--num.streams {room + 1}: Spark runs {room} at the same time with")
    assert "Leave spark.master and spark.task.cpus out, or have fewer streams." in line
