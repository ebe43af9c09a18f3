"""Connect's keys of exactly-once source connectors (C192-C195, KIP-618)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mm2.config.flow_config import flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.transaction_settings import (
    exactly_once_mistakes,
    read_transactions,
    reads_committed,
)
from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.errors import ConfigErrors

_COMMITTED = {"consumer.isolation.level": "read_committed"}
_MODE = "B.exactly.once.source.support"


def _mistakes(mode: str = "enabled", **properties: str) -> list[tuple[str | None, str]]:
    found = exactly_once_mistakes(
        {name.replace("_", "."): value for name, value in properties.items()},
        mode=mode,
        mode_key=_MODE,
        offsets_topic="mm2-offsets.A.internal",
    )
    return [(mistake.key, mistake.message) for mistake in found]


@pytest.mark.parametrize(
    ("consumer", "source_consumer", "expected"),
    [
        (None, None, False),
        ("read_uncommitted", None, False),
        (None, "read_uncommitted", False),
        ("read_committed", None, True),
        (None, "read_committed", True),
        ("read_uncommitted", "read_committed", True),
        ("read_committed", "read_uncommitted", False),
        ("read_committed", "garbage", False),
        ("garbage", "read_committed", True),
    ],
)
def test_only_a_consumer_of_committed_records_supports_exactly_once(
    consumer: str | None, source_consumer: str | None, *, expected: bool
) -> None:
    """C192."""
    keys = {
        "consumer.isolation.level": consumer,
        "source.consumer.isolation.level": source_consumer,
    }
    assert reads_committed({k: v for k, v in keys.items() if v is not None}) is expected


def test_requested_is_content_with_anything() -> None:
    """C193."""
    assert _mistakes(mode="disabled") == []
    assert _mistakes(mode="disabled", exactly_once_support="Requested") == []


def test_required_needs_the_worker_and_the_consumer() -> None:
    """C193, C195."""
    (about_worker, about_consumer) = _mistakes(mode="preparing", exactly_once_support="required")
    assert f"{_MODE} = enabled" in about_worker[1]
    assert "isolation.level = read_committed" in about_consumer[1]
    assert about_worker[0] == about_consumer[0] == "exactly.once.support"
    assert (
        _mistakes(exactly_once_support="REQUIRED", consumer_isolation_level="read_committed") == []
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("exactly.once.support", "garbage"),
        ("transaction.boundary", "sometimes"),
        ("transaction.boundary", "connector"),
        ("transaction.boundary.interval.ms", "0"),
        ("transaction.boundary.interval.ms", "soon"),
        ("offsets.storage.topic", "elsewhere"),
    ],
)
def test_what_cannot_be_obeyed_is_refused(key: str, value: str) -> None:
    ((found, message),) = _mistakes(**{key.replace(".", "_"): value})
    assert found == key
    assert value in message


@pytest.mark.parametrize("level", ["", "A->B."])
def test_a_mode_that_no_cluster_is_given_is_warned_of_with_the_remedy(level: str) -> None:
    """C043: Java passes over it in silence, and mirrors at least once."""
    raw = {
        "clusters": "A, B",
        "A.bootstrap.servers": "a:1",
        "B.bootstrap.servers": "b:1",
        f"{level}exactly.once.source.support": "Enabled ",
    }
    flow = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))

    def warnings(more: dict[str, str]) -> tuple[str, ...]:
        return flow_config(
            MirrorMakerConfig(raw=raw | more, lines={}, environment={}), flow
        ).warnings

    (warning,) = warnings({})
    assert "at least once" in warning
    assert f"write {_MODE} = Enabled" in warning
    assert warnings({_MODE: "enabled"}) == ()
    assert warnings({f"{level}exactly.once.source.support": "disabled"}) == ()


def test_what_can_be_obeyed_is_not() -> None:
    assert (
        _mistakes(
            transaction_boundary="Interval",
            transaction_boundary_interval_ms="500",
            offsets_storage_topic="mm2-offsets.A.internal",
        )
        == []
    )


def test_boundaries_are_polls_or_intervals() -> None:
    flush = timedelta(seconds=1)
    assert read_transactions({}, flush_interval=flush).every is None
    assert read_transactions({"transaction.boundary": "POLL"}, flush_interval=flush).every is None
    interval = {"transaction.boundary": "interval"}
    assert read_transactions(interval, flush_interval=flush).every == flush
    own = {**interval, "transaction.boundary.interval.ms": "50"}
    assert read_transactions(own, flush_interval=flush).every == timedelta(milliseconds=50)


def test_a_mistake_is_found_in_the_file_with_its_line() -> None:
    """C194: it hides no other one."""
    raw = {
        "clusters": "A, B",
        "A.bootstrap.servers": "a:1",
        "B.bootstrap.servers": "b:1",
        "A->B.exactly.once.support": "required",
        "A->B.consumer.isolation.level": "read_committed",
        "A->B.offset.lag.max": "bad",
    }
    lines = {key: line for line, key in enumerate(raw, start=1)}
    maker = MirrorMakerConfig(raw=raw, lines=lines, environment={})
    with pytest.raises(ConfigErrors) as caught:
        flow_config(maker, SourceAndTarget(ClusterAlias("A"), ClusterAlias("B")))
    assert [(p.line, p.key) for p in caught.value.problems] == [
        (4, "A->B.exactly.once.support"),
        (6, "A->B.offset.lag.max"),
    ]
