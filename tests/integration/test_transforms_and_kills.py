"""
Records that are changed, as columns and one by one: what arrives, and where it goes on.
"""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Final

import pytest

from flows.source.transform.column_handle import compile_columns
from mm2.config.connector_settings import TransformSettings
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, one_way
from tests.support.records import (
    Sample,
    committed,
    consume,
    create_topic,
    ends,
    heartbeat,
    produce,
)
from tests.support.specs import error_settings

pytestmark = pytest.mark.broker

_FUNCTIONS: Final = "tests.support.arrow_functions"
_CONNECT: Final = {
    "transforms": "drop,mark,clean",
    "transforms.drop.type": "Filter",
    "transforms.drop.predicate": "isTombstone",
    "transforms.mark.type": "InsertHeader",
    "transforms.mark.header": "mark",
    "transforms.mark.value.literal": "x",
    "transforms.clean.type": "DropHeaders",
    "transforms.clean.headers": "old",
    "transforms.clean.predicate": "hasNew",
    "predicates": "isTombstone, hasNew",
    "predicates.isTombstone.type": "RecordIsTombstone",
    "predicates.hasNew.type": "HasHeaderKey",
    "predicates.hasNew.name": "new",
}
_JSON: Final = {
    "transforms": "mask,site,name",
    "transforms.mask.type": "MaskField$Value",
    "transforms.mask.fields": "iban",
    "transforms.mask.replacement": "***",
    "transforms.mask.predicate": "isTombstone",
    "transforms.mask.negate": "true",
    "transforms.site.type": "InsertField$Value",
    "transforms.site.static.field": "site",
    "transforms.site.static.value": "x",
    "transforms.name.type": "ReplaceField$Value",
    "transforms.name.renames": "n:number",
    "predicates": "isTombstone",
    "predicates.isTombstone.type": "RecordIsTombstone",
}
_TRANSFORMS: Final[Mapping[str, TransformSettings]] = {
    "bytes": TransformSettings(),
    "function": TransformSettings(function=f"{_FUNCTIONS}:fan_out"),
    "connect": TransformSettings(connect=_CONNECT),
    "json": TransformSettings(connect=_JSON),
    "handler": TransformSettings(handler="tests.support.user_handlers:fan_out"),
    "provenance": TransformSettings(provenance=True),
}
_PROVENANCE: Final = "mm2.source."
_OFFSET: Final = f"{_PROVENANCE}offset"
"""Of these headers all others are of the cluster and the moment."""

_Content = tuple[bytes | None, tuple[tuple[str, bytes | None], ...]]


def _sample(kind: str, number: int) -> Sample:
    """Every third has another header; every fifth, whose number says 0, has no value."""
    headers: tuple[tuple[str, bytes | None], ...] = (("old", b"o"),)
    if number % 3 == 0:
        headers = (*headers, ("new", None))
    value = b'{"n": %d, "iban": "DE"}' % number if kind == "json" else b"%d" % number
    return Sample(value=None if number % 5 == 0 else value, headers=headers)


def _copies(kind: str, number: int) -> list[_Content]:
    """What is to become of it."""
    sample = _sample(kind, number)
    match kind:
        case "bytes":
            return [(sample.value, sample.headers)]
        case "json":
            masked = b'{"number":%d,"iban":"***","site":"x"}' % number
            return [(sample.value and masked, sample.headers)]
        case "connect":
            kept = tuple(each for each in sample.headers if number % 3 or each[0] != "old")
            return [(sample.value, (*kept, ("mark", b"x")))] if sample.value else []
        case "provenance":
            return [(sample.value, (*sample.headers, (_OFFSET, b"%d" % number)))]
    value = int(sample.value or b"0")
    return [(b"%d.%d" % (value, copy), sample.headers) for copy in range(value % 4)]


def _expected(kind: str, total: int) -> list[_Content]:
    return list(chain.from_iterable(_copies(kind, number) for number in range(total)))


def _content(copy: Sample) -> _Content:
    kept = (h for h in copy.headers if h[0] == _OFFSET or not h[0].startswith(_PROVENANCE))
    return copy.value, tuple(kept)


def _bench(
    source: Cluster, target: Cluster, unique: str, kind: str, *, exactly_once: bool
) -> Bench:
    create_topic(source.bootstrap, f"{unique}-t")
    changes = {"transforms": _TRANSFORMS[kind]}
    topics = {f"{unique}-t": 1}
    return Bench(source, target, unique, topics, changes=changes, exactly_once=exactly_once)


def _write(bench: Bench, kind: str, first: int, count: int) -> int:
    """Writes numbered records; returns how many there are."""
    (topic,) = bench.topics
    samples = [_sample(kind, number) for number in range(first, first + count)]
    produce(bench.source.bootstrap, topic, samples, codec="lz4")
    return first + count


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("kind", sorted(_TRANSFORMS))
@pytest.mark.parametrize("exactly_once", [False, True])
def test_killed_at_any_moment_it_loses_nothing_and_repeats_nothing(
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    kind: str,
    kills: int,
    *,
    exactly_once: bool,
) -> None:
    """
    The task copies while records are written, and is killed somewhere in the middle, after it has
    stored a first position.

    What it has copied is recognised by what the transform makes of the source again. There are
    fewer records at a time than a batch may have, so that no batch ends within a record's copies.
    """
    compile_columns()
    bench = _bench(cluster_a, cluster_b, unique, kind, exactly_once=exactly_once)
    (topic,), seed = bench.topics, secrets.randbits(32)
    rng = random.Random(seed)
    print(f"seed {seed}")  # noqa: T201 - shown if it fails
    remote, total = bench.remote(topic), _write(bench, kind, 0, 10)

    def end() -> int:
        return ends(cluster_b.bootstrap, [remote])[0]

    with bench.running():
        eventually(end, until=(1).__le__, timeout=60)
    for _ in range(kills):
        with bench.detached(columns=True):
            for _ in range(rng.randint(5, 25)):
                total = _write(bench, kind, total, rng.randint(1, 200))
            aim = len(_expected(kind, total)) - rng.randint(0, 2_000)
            eventually(end, until=aim.__le__, timeout=60)
    with bench.running():
        wanted = _expected(kind, total)
        eventually(lambda: bench.progress()[topic, 0].position == total - 1, timeout=60)
    found = committed(cluster_b.bootstrap, remote)
    assert [_content(each) for each in found] == wanted, f"seed {seed}"


@pytest.mark.parametrize("exactly_once", [False, True])
def test_what_a_handler_makes_differently_each_time_may_come_twice_and_is_never_lost(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, *, exactly_once: bool
) -> None:
    """What was copied before the kill is not recognised; in a transaction it counts or does not."""
    bench = _bench(cluster_a, cluster_b, unique, "handler", exactly_once=exactly_once)
    handler = "tests.support.user_handlers:differently_each_time"
    bench.changes = {"transforms": TransformSettings(handler=handler)}
    (topic,), total = bench.topics, 2_000
    remote = bench.remote(topic)
    samples = [Sample(value=b"%d" % number) for number in range(total)]
    with bench.detached():
        for first in range(0, total, 100):
            produce(cluster_a.bootstrap, topic, samples[first : first + 100], codec="lz4")
        eventually(lambda: ends(cluster_b.bootstrap, [remote])[0], until=(500).__le__, timeout=60)
    with bench.running():
        eventually(lambda: bench.progress()[topic, 0].position == total - 1, timeout=60)
    found = [each.value for each in committed(cluster_b.bootstrap, remote)]
    assert list(dict.fromkeys(found)) == [sample.value for sample in samples]
    assert not exactly_once or len(found) == total


@pytest.mark.parametrize("exactly_once", [False, True])
def test_with_tolerance_only_what_a_function_fails_for_is_a_dead_letter(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, *, exactly_once: bool
) -> None:
    compile_columns()
    letters = f"{unique}-letters"
    create_topic(cluster_b.bootstrap, letters)
    bench = _bench(cluster_a, cluster_b, unique, "function", exactly_once=exactly_once)
    bench.changes = {
        "transforms": TransformSettings(function=f"{_FUNCTIONS}:shout"),
        "errors": error_settings(tolerates=True, dead_letter_topic=letters, context_headers=True),
    }
    (topic,) = bench.topics
    values = [b"bad" if n % 100 == 7 else b"drop" if n % 3 else b"v%d" % n for n in range(400)]
    samples = [Sample(value=value) for value in values]
    produce(cluster_a.bootstrap, topic, samples, codec="lz4")
    with bench.running():
        eventually(lambda: bench.progress()[topic, 0].position == 399, timeout=60)
    copies = committed(cluster_b.bootstrap, bench.remote(topic))
    assert [each.value for each in copies] == [v.upper() for v in values if v[:1] == b"v"]
    refused = committed(cluster_b.bootstrap, letters)
    headers = [dict(each.headers) for each in refused]
    assert [each.value for each in refused] == [b"bad"] * 4
    assert [each["__connect.errors.offset"] for each in headers] == [b"7", b"107", b"207", b"307"]
    assert {each["__connect.errors.stage"] for each in headers} == {b"TRANSFORMATION"}
    assert bench.progress()[topic, 0].dead_letters == 4


_USER_CODE: Final = """
import pyarrow.compute as pc


class OnlyKeys:
    def init(self, args):
        self.prefix = args

    def handle(self, batch):
        keys = batch["key"].cast("string")
        return batch.filter(pc.fill_null(pc.starts_with(keys, self.prefix), False))


def wrong(batch):
    return batch.drop_columns(["value"])
"""


@pytest.fixture
def user_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "mirror_columns.py").write_text(_USER_CODE)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)


@pytest.mark.spark
@pytest.mark.usefixtures("user_code")
def test_a_function_that_the_file_names_changes_the_topics_that_it_names(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    changed, plain, beats = f"{unique}-t", f"{unique}-plain", f"{unique}-heartbeats"
    settings = {
        "A->B.arrow.function": "mirror_columns:OnlyKeys",
        "A->B.arrow.function.args": "a",
        "A->B.arrow.function.topics": f"{changed}, {beats}",
    }
    samples = [Sample(key=key, value=b"%d" % n) for n, key in enumerate([b"a1", b"b", None, b"a2"])]
    for topic in (changed, plain):
        create_topic(cluster_a.bootstrap, topic)
        produce(cluster_a.bootstrap, topic, samples)
    create_topic(cluster_a.bootstrap, beats)
    produce(cluster_a.bootstrap, beats, [heartbeat()])
    text = one_way(cluster_a, cluster_b, f"{unique}-.*", settings)
    with Mirror(tmp_path, text) as mirror:
        found = consume(cluster_b.bootstrap, f"A.{changed}", 2)
        assert len(consume(cluster_b.bootstrap, f"A.{plain}", 4)) == 4
        (beat,) = consume(cluster_b.bootstrap, f"A.{beats}", 1)
        assert mirror.stop() == 0
    assert beat.content == heartbeat().content
    assert [each.key for each in found] == [b"a1", b"a2"]
    assert len(committed(cluster_b.bootstrap, f"A.{changed}")) == 2


@pytest.mark.spark
@pytest.mark.usefixtures("user_code")
def test_a_function_that_returns_other_columns_fails_its_flow_at_the_start(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    settings = {"A->B.arrow.function": "mirror_columns:wrong"}
    text = one_way(cluster_a, cluster_b, f"{unique}-.*", settings)
    with Mirror(tmp_path, text) as mirror:
        eventually(lambda: "it has no columns value" in mirror.text())
        assert "mirror_columns:wrong for A->B.arrow.function: it fails" in mirror.text()
        mirror.stop()
