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
    [
        ("spark.master=local[2]", 2),
        ("spark.master=spark://m:7077", 9),
        ("spark.master=spark://m:7077\nspark.cores.max=9", 9),
        ("", 9),
    ],
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


@pytest.mark.parametrize("key", ["spark.cores.max", "spark.dynamicAllocation.maxExecutors"])
def test_a_stream_beyond_what_its_application_may_have_is_refused(
    refused: Refused, key: str
) -> None:
    (line,) = refused("--num.streams", "4", producer=f"spark.master=spark://m:7077\n{key}=3")
    assert line.startswith(f"--num.streams 4: Spark runs 3 at the same time with {key}=3")
    assert line.endswith(f"Raise {key}, or have fewer streams.")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("session.timeout.ms=abc", "session.timeout.ms=abc is not a whole number."),
        ("heartbeat.interval.ms=1s", "heartbeat.interval.ms=1s is not a whole number."),
        ("retry.backoff.ms=soon", "retry.backoff.ms=soon is not a whole number."),
        ("socket.timeout.ms=1m", "request.timeout.ms=1m is not a whole number."),
        (
            "group.protocol=foo",
            "group.protocol=foo is not supported: use one of classic, consumer.",
        ),
        (
            "session.timeout.ms=400000",
            "session.timeout.ms (400000) is greater than max.poll.interval.ms (300000):",
        ),
        (
            "max.poll.interval.ms=30000",
            "session.timeout.ms (45000) is greater than max.poll.interval.ms (30000):",
        ),
        ("isolation.level=none", "Invalid value 'none' for configuration 'isolation.level'"),
    ],
)
def test_what_no_consumer_can_have_is_refused_with_its_line(
    refused: Refused, text: str, says: str
) -> None:
    (line,) = refused(consumer=f"\n{text}")
    assert line.startswith(f"consumer: line 4: {says}")


def test_all_mistakes_of_both_files_are_told_in_the_order_of_their_lines(refused: Refused) -> None:
    lines = refused(
        consumer="session.timeout.ms=abc\ngroup.protocol=foo\nretry.backoff.ms=soon",
        producer="security.protocol=plain",
    )
    assert [line.partition("=")[0] for line in lines] == [
        "consumer: line 3: session.timeout.ms",
        "consumer: line 4: group.protocol",
        "consumer: line 5: retry.backoff.ms",
        "producer: line 2: security.protocol",
    ]


def test_the_broker_decides_about_sessions_of_the_newer_protocol(refused: Refused) -> None:
    assert refused(consumer="group.protocol=Consumer\nsession.timeout.ms=400000") == []


def test_a_partitioner_that_ignores_keys_does_not_go_with_repartition(refused: Refused) -> None:
    text = "partitioner.ignore.keys=true"
    assert refused(producer=text) == []
    (line,) = refused("--repartition", producer=text)
    assert line.startswith("producer: line 2: partitioner.ignore.keys=true: with --repartition")
