"""What the user says about the consumer and the producer of mirrored records."""

from __future__ import annotations

import pytest

from mm2.config.flow_config import FlowConfig
from mm2.errors import ConfigErrors
from mm2.herder.bundles.make_bundle_spec import bundle_spec
from mm2.kafka.wire.compression import Compression
from mm2.stop_deadlines import herders_s
from tests.support.configs import flow_of


def _config(*lines: str) -> FlowConfig:
    return flow_of(dict(line.split(" = ") for line in lines))


def test_without_a_word_of_the_user_batches_are_left_as_they_are() -> None:
    config = _config()
    assert (config.data.codec, config.data.level) == (None, None)
    assert bundle_spec(config, 0, 1, "syncs").compression is None
    assert config.warnings == ()


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["B.producer.compression.type = zstd"], Compression(4, 3)),
        (["B.producer.compression.type = none"], Compression(0)),
        (["A.producer.compression.type = zstd"], None),
        (
            ["B.producer.compression.type = gzip", "A->B.producer.override.compression.type = lz4"],
            Compression(3, 9),
        ),
        (
            ["B.producer.compression.type = zstd", "B.producer.compression.zstd.level = 19"],
            Compression(4, 19),
        ),
        (
            ["B.producer.compression.type = gzip", "B.producer.compression.gzip.level = -1"],
            Compression(1),
        ),
    ],
)
def test_the_codec_asked_for_reaches_the_task(
    lines: list[str], expected: Compression | None
) -> None:
    spec = bundle_spec(_config(*lines), 0, 1, "syncs")
    assert spec.compression == expected


def test_sizes_and_waits_reach_the_task() -> None:
    spec = bundle_spec(
        _config(
            "A.consumer.fetch.max.bytes = 1000",
            "A->B.source.consumer.max.partition.fetch.bytes = 900",
            "A.consumer.fetch.min.bytes = 80",
            "A.consumer.fetch.max.wait.ms = 70",
            "A.consumer.isolation.level = read_committed",
            "A.consumer.auto.offset.reset = latest",
            "B.producer.batch.size = 60000",
            "B.producer.max.request.size = 50000",
            "B.producer.buffer.memory = 4000000",
        ),
        0,
        1,
        "syncs",
    )
    data = spec.data
    assert (data.fetch_max_bytes, data.fetch_partition_bytes) == (1000, 900)
    assert (data.fetch_min_bytes, data.fetch_wait_ms) == (80, 70)
    assert (data.read_committed, data.reset) == (True, "latest")
    assert (data.max_request_size, data.buffer_memory) == (50_000, 4_000_000)
    assert spec.merge_bytes == 50_000, "no more than a request holds"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("B.producer.compression.type = brotli", "must be one of none, gzip"),
        ("A->B.producer.override.compression.lz4.level = 18", "must be at most 17"),
        ("B.producer.compression.gzip.level = 0", "must be at least 1"),
        ("B.producer.batch.size = big", "must be a whole number"),
        ("A.consumer.fetch.max.bytes = -1", "must be at least 0"),
        ("A->B.source.consumer.isolation.level = read", "must be one of read_committed"),
        ("A.consumer.auto.offset.reset = newest", "must be earliest"),
        ("A.consumer.auto.offset.reset = by_duration:1d", "is no duration like"),
    ],
)
def test_what_cannot_be_followed_is_a_mistake_with_its_key_and_line(
    line: str, complaint: str
) -> None:
    with pytest.raises(ConfigErrors) as caught:
        _config(line)
    (mistake,) = caught.value.problems
    assert mistake.key == line.split(" = ", maxsplit=1)[0]
    assert mistake.line == 5
    assert complaint in mistake.message


def test_what_is_not_obeyed_is_said() -> None:
    warnings = _config("B.producer.acks = 1", "A.consumer.max.poll.records = 9").warnings
    assert [warning.split(": no effect")[0] for warning in warnings] == [
        "line 6: A.consumer.max.poll.records = 9",
        "line 5: B.producer.acks = 1",
    ]


def test_a_java_class_for_administration_is_refused() -> None:
    """C085."""
    with pytest.raises(ConfigErrors, match="cannot load Java classes"):
        _config("A->B.forwarding.admin.class = com.acme.Admin")
    default = "A->B.forwarding.admin.class = org.apache.kafka.clients.admin.ForwardingAdmin"
    assert _config(default).warnings == ()


@pytest.mark.parametrize(
    ("lines", "drain_s", "stop_s"),
    [
        ([], 8, 22),
        (["B.task.shutdown.graceful.timeout.ms = 1500"], 1.5, 22),
        (["B.task.shutdown.graceful.timeout.ms = 60000"], 60, 74),
    ],
)
def test_how_long_a_task_may_drain_reaches_it_and_those_who_wait_for_it(
    lines: list[str], drain_s: float, stop_s: float
) -> None:
    config = _config(*lines)
    assert bundle_spec(config, 0, 1, "syncs").drain_within_s == drain_s
    assert herders_s(config.herder.shutdown_timeout) == stop_s


def test_the_limit_of_administrative_calls_is_obeyed_unless_a_client_has_its_own() -> None:
    config = _config("A->B.admin.timeout.ms = 5000", "B.admin.default.api.timeout.ms = 7000")
    limits = [
        client["default.api.timeout.ms"]
        for client in (config.source.source_admin("r"), config.checkpoint.target_admin("r"))
    ]
    assert limits == ["5000", "7000"]
