"""
Records that a message handler changes, between real clusters: what arrives, and where it goes on.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mm2.client.load_translation import read_translation
from mm2.config.connector_settings import TransformSettings
from mm2.core.model import TopicName, TopicPartition
from mm2.protocol.bundle_spec import OffsetSyncSpec
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.raw import contents, log_of, records_in
from tests.support.records import Sample, committed, create_topic, produce
from tests.support.specs import error_settings

pytestmark = pytest.mark.broker

_HANDLERS = "tests.support.user_handlers"


def _bench(
    source: Cluster,
    target: Cluster,
    unique: str,
    handler: str,
    *,
    partitions: int = 1,
    args: str = "here",
    **changes: Any,
) -> Bench:
    create_topic(source.bootstrap, f"{unique}-t", partitions)
    transforms = TransformSettings(handler=f"{_HANDLERS}:{handler}", handler_args=args)
    return Bench(
        source,
        target,
        unique,
        {f"{unique}-t": partitions},
        changes={"transforms": transforms, **changes.pop("spec", {})},
        **changes,
    )


def _topic(bench: Bench) -> str:
    (topic,) = bench.topics
    return topic


def _write(bench: Bench, first: int, count: int, codec: str = "none") -> int:
    """Writes numbered records; returns the number behind the last."""
    samples = [Sample(value=b"%d" % n) for n in range(first, first + count)]
    produce(bench.source.bootstrap, _topic(bench), samples, codec=codec)
    return first + count


def _fanned_out(total: int) -> list[bytes]:
    return [b"%d.%d" % (n, copy) for n in range(total) for copy in range(n % 4)]


def _values(bench: Bench) -> list[bytes | None]:
    remote = bench.remote(_topic(bench))
    return [each.value for each in committed(bench.target.bootstrap, remote)]


def _await_values(bench: Bench, count: int) -> None:
    eventually(lambda: _values(bench), until=lambda found: len(found) >= count)


@pytest.mark.parametrize("handler", ["fan_out", "fan_out_later"])
@pytest.mark.parametrize("exactly_once", [False, True])
def test_records_become_several_or_none_and_the_position_follows(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, handler: str, *, exactly_once: bool
) -> None:
    bench = _bench(cluster_a, cluster_b, unique, handler, exactly_once=exactly_once)
    total = 0
    with bench.running():
        for codec in ("none", "lz4", "gzip"):
            total = _write(bench, total, 33, codec)
            _await_values(bench, len(_fanned_out(total)))
        total = _write(bench, total, 6)  # of 104 comes none
        # A lag of 0 may be that of before.
        eventually(lambda: bench.progress()[_topic(bench), 0].position == total - 1)
    assert _values(bench) == _fanned_out(total)
    progress = bench.progress()[_topic(bench), 0]
    assert (progress.position, progress.records) == (total - 1, len(_fanned_out(total)))


def test_a_record_in_the_middle_of_which_a_task_was_killed_is_completed(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """At least once its first copies may come twice, but none is missing."""
    bench = _bench(cluster_a, cluster_b, unique, "fan_out")
    total = _write(bench, 0, 4)
    with bench.running():
        _await_values(bench, len(_fanned_out(total)))
    # As a killed task would have left it, had the third record's copies come in two batches.
    produce(
        cluster_b.bootstrap,
        bench.remote(_topic(bench)),
        [Sample(value=b"7.0", timestamp_ms=1_700_000_000_000)],
    )
    samples = [Sample(value=b"7", timestamp_ms=1_700_000_000_000)]
    produce(cluster_a.bootstrap, _topic(bench), samples)
    with bench.running():
        _await_values(bench, len(_fanned_out(total)) + 4)
    assert _values(bench)[-4:] == [b"7.0", b"7.0", b"7.1", b"7.2"]


def test_a_handler_sees_the_copy_s_name_and_what_it_leaves_alone_stays_as_it_is(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    bench = _bench(cluster_a, cluster_b, unique, "Marks")
    samples = [
        Sample(key=b"k", value=value, headers=(("h", None),), timestamp_ms=1_700_000_000_000)
        for value in (b"1", b"drop", None)
    ]
    produce(cluster_a.bootstrap, _topic(bench), samples)
    with bench.running():
        _await_values(bench, 2)
    found = committed(cluster_b.bootstrap, bench.remote(_topic(bench)))
    assert [each.value for each in found] == [b"1", None]
    assert all(each.headers == (("h", None), ("mark", b"here")) for each in found)
    assert all((each.key, each.timestamp_ms) == (b"k", 1_700_000_000_000) for each in found)


def test_where_records_take_long_those_that_are_done_are_sent(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    bench = _bench(cluster_a, cluster_b, unique, "Waits", args=str(ready))
    values = [*(b"%d" % n for n in range(500)), b"hold", b"last"]
    produce(cluster_a.bootstrap, _topic(bench), [Sample(value=value) for value in values])
    with bench.running():
        _await_values(bench, 500)
        assert b"hold" not in _values(bench)
        ready.touch()
        _await_values(bench, len(values))
    assert _values(bench) == values


def test_topics_that_no_pattern_names_are_copied_as_bytes(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    bench = _bench(cluster_a, cluster_b, unique, "Marks")
    other = TransformSettings(handler=f"{_HANDLERS}:Marks", handler_topics=("other.*",))
    bench.changes = {"transforms": other}
    _write(bench, 0, 3, "lz4")
    with bench.running():
        _await_values(bench, 3)
    remote = bench.remote(_topic(bench))
    assert contents(cluster_b.bootstrap, remote) == contents(cluster_a.bootstrap, _topic(bench))


@pytest.mark.parametrize("exactly_once", [False, True])
def test_with_tolerance_a_record_that_the_handler_cannot_handle_is_a_dead_letter(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, *, exactly_once: bool
) -> None:
    letters = f"{unique}-letters"
    create_topic(cluster_b.bootstrap, letters)
    errors = error_settings(tolerates=True, dead_letter_topic=letters, context_headers=True)
    bench = _bench(
        cluster_a, cluster_b, unique, "Marks", exactly_once=exactly_once, spec={"errors": errors}
    )
    wrong = {0: b"bad", 5: b"odd", 10: b"bad", 15: b"odd"}
    values = [wrong.get(n, b"%d" % n) for n in range(20)]
    produce(cluster_a.bootstrap, _topic(bench), [Sample(value=value) for value in values])
    with bench.running():
        _await_values(bench, 16)
        eventually(lambda: bench.progress()[_topic(bench), 0].lag == 0)
    assert _values(bench) == [value for n, value in enumerate(values) if n not in wrong]
    found = committed(cluster_b.bootstrap, letters)
    assert [each.value for each in found] == list(wrong.values())
    headers = [dict(each.headers) for each in found]
    assert [each["__connect.errors.offset"] for each in headers] == [b"0", b"5", b"10", b"15"]
    assert {each["__connect.errors.stage"] for each in headers} == {b"TRANSFORMATION"}
    progress = bench.progress()[_topic(bench), 0]
    assert (progress.position, progress.skipped, progress.dead_letters) == (19, 4, 4)


def test_without_tolerance_the_partition_stops_at_the_record_and_says_why(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    bench = _bench(cluster_a, cluster_b, unique, "Marks")
    values = [b"1", b"2", b"bad", b"3"]
    produce(cluster_a.bootstrap, _topic(bench), [Sample(value=value) for value in values])
    with bench.running():
        eventually(lambda: bench.progress()[_topic(bench), 0].error)
        error = bench.progress()[_topic(bench), 0].error or ""
    assert "the transform fails at offset 2" in error
    assert "no such record" in error
    assert _values(bench) == [b"1", b"2"]
    assert bench.progress()[_topic(bench), 0].position == 1


@pytest.mark.parametrize("exactly_once", [False, True])
@pytest.mark.parametrize("has_letters", [False, True])
def test_what_is_refused_inside_of_what_one_record_became_is_found(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, *, exactly_once: bool, has_letters: bool
) -> None:
    """The target takes no record of more than 2 kB; with tolerance the others arrive."""
    letters = f"{unique}-letters"
    create_topic(cluster_b.bootstrap, letters)
    topic = letters if has_letters else None
    bench = _bench(
        cluster_a,
        cluster_b,
        unique,
        "sized",
        exactly_once=exactly_once,
        remote_configs={"max.message.bytes": "2000"},
        spec={"errors": error_settings(tolerates=True, dead_letter_topic=topic)},
    )
    produce(cluster_a.bootstrap, _topic(bench), [Sample(value=b"%d" % n) for n in range(10)])
    with bench.running():
        eventually(lambda: bench.progress()[_topic(bench), 0].position == 9)
    found = [(value or b"").split(b" ")[0] for value in _values(bench)]
    assert found == [b"%d.%d" % (n, copy) for n in range(10) for copy in (0, 2)]
    assert bench.progress()[_topic(bench), 0].skipped == 10
    assert len(committed(cluster_b.bootstrap, letters)) == 10 * has_letters


def test_offsets_of_groups_are_translated_through_a_fan_out(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """To the first record that came of the first unread record, or of the next that came to any."""
    spec = OffsetSyncSpec(
        cluster="target",
        properties={"bootstrap.servers": cluster_b.bootstrap},
        topic=f"{unique}-syncs",
        lag_max=100,
        runs_topic=f"{unique}-runs",
    )
    for topic in (spec.topic, f"{unique}-runs"):
        create_topic(cluster_b.bootstrap, topic, configs={"cleanup.policy": "compact"})
    bench = _bench(cluster_a, cluster_b, unique, "fan_out", spec={"offset_syncs": spec})
    total = _write(bench, 0, 42)
    with bench.running():
        _await_values(bench, len(_fanned_out(total)))
        eventually(lambda: bench.progress()[_topic(bench), 0].lag == 0)
    translation = asyncio.run(
        read_translation(
            "target",
            spec.properties,
            syncs_topic=spec.topic,
            runs_topic=f"{unique}-runs",
        )
    )
    where = TopicPartition(TopicName(_topic(bench)), 0)
    log = records_in(log_of(cluster_b.bootstrap, bench.remote(_topic(bench))))
    first = {int((each.value or b"").split(b".")[0]): each.offset for each in reversed(log)}
    for offset in range(40):
        at_least = min(at for number, at in first.items() if number >= offset)
        assert translation.translate(where, offset) == at_least, offset
