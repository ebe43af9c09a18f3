"""One properties file with transforms, in Java's MirrorMaker and in ours: the same copies."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, java_mirror, properties
from tests.support.records import Sample, commit_group, committed, create_topic, produce

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.reference]

_PACKAGE = "org.apache.kafka.connect.transforms."
_MARK = ("mirrored", b"7")
_LAST = b"last"
_AT = 1_700_000_000_000
_TRANSFORMS = {
    "transforms": "mark, clean, secret, tombstones, dropped, move",
    "transforms.mark.type": f"{_PACKAGE}InsertHeader",
    "transforms.mark.header": "mirrored",
    "transforms.mark.value.literal": "007",
    "transforms.clean.type": "DropHeaders",
    "transforms.clean.headers": "trace,span",
    "transforms.clean.predicate": "own",
    "transforms.clean.negate": "true",
    "transforms.secret.type": f"{_PACKAGE}Filter",
    "transforms.secret.predicate": "isSecret",
    "transforms.tombstones.type": "Filter",
    "transforms.tombstones.predicate": "isTombstone",
    "transforms.dropped.type": "Filter",
    "transforms.dropped.predicate": "hasDrop",
    "transforms.move.type": f"{_PACKAGE}RegexRouter",
    "transforms.move.regex": r"(\\w+)\\.(.*)-route",
    "transforms.move.replacement": "$1.$2-moved",
    "predicates": "isSecret, isTombstone, hasDrop, own",
    "predicates.isSecret.type": f"{_PACKAGE}predicates.TopicNameMatches",
    "predicates.isSecret.pattern": r"[^.]+\\..*-secret",
    "predicates.isTombstone.type": "RecordIsTombstone",
    "predicates.hasDrop.type": "HasHeaderKey",
    "predicates.hasDrop.name": "drop",
    "predicates.own.type": "TopicNameMatches",
    "predicates.own.pattern": "heartbeats|.*internal",
}


def _samples() -> list[Sample]:
    headers: list[tuple[tuple[str, bytes | None], ...]] = [
        (),
        (("trace", b"1"), ("kept", b"\xff\x00"), ("trace", b"2"), ("span", b"")),
        (("kept", b""), ("drop", b"now")),
        (("drop2", b"x"),),
    ]
    found = [
        Sample(
            key=b"k%d" % n if n % 3 else None,
            value=None if n % 7 == 5 else b"v%d" % n,
            headers=headers[n % len(headers)],
            partition=n % 2,
            timestamp_ms=_AT + n,
        )
        for n in range(60)
    ]
    return [*found, *(Sample(value=_LAST, partition=n, timestamp_ms=_AT) for n in (0, 1))]


def _text(source: Cluster, target: Cluster, alias: str, topics: str) -> str:
    flow = f"{alias}->{alias}t"
    settings = {
        f"{flow}.enabled": "true",
        f"{alias}t->{alias}.emit.heartbeats.enabled": "false",
        f"{flow}.topics": topics,
        f"{flow}.groups": topics,
        f"{flow}.emit.heartbeats.interval.seconds": "1",
        # Java may keep a sync back until it flushes offsets, 60 s by default.
        f"{alias}t.offset.flush.interval.ms": "1000",
        f"{flow}.header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter",
        **{f"{flow}.{key}": value for key, value in _TRANSFORMS.items()},
    }
    return properties({alias: source.bootstrap, f"{alias}t": target.bootstrap}, settings)


def _is_complete(found: list[Sample]) -> bool:
    return [each.value for each in found].count(_LAST) == 2


def _plain(found: list[Sample], *, of_java: bool) -> list[Sample]:
    """Java's converter turns headers that were there into base64."""
    return [
        replace(each, headers=tuple(map(_decoded, each.headers)) if of_java else each.headers)
        for each in found
    ]


def _decoded(header: tuple[str, bytes | None]) -> tuple[str, bytes | None]:
    name, value = header
    return header if header == _MARK or value is None else (name, base64.b64decode(value))


def test_both_make_the_same_copies_of_the_same_records(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    data, secret, route = (f"{unique}-{name}" for name in ("data", "secret", "route"))
    for topic in (data, secret, route):
        create_topic(cluster_a.bootstrap, topic, 2)
        produce(cluster_a.bootstrap, topic, _samples(), codec="lz4")
    # At the end, as Java may not translate offsets before the last sync.
    commit_group(cluster_a.bootstrap, unique, {(data, 0): len(_samples()) // 2})
    copies: dict[str, list[Sample]] = {}
    moved: dict[str, list[Sample]] = {}
    for command in (java_mirror, None):
        alias = f"{'j' if command else 'm'}{unique[-6:]}"
        create_topic(cluster_b.bootstrap, f"{alias}.{unique}-moved", 2)
        text = _text(cluster_a, cluster_b, alias, f"{unique}.*")
        with Mirror(tmp_path, text, command=command) as mirror:
            copies[alias] = _awaited(cluster_b, f"{alias}.{data}")
            moved[alias] = _awaited(cluster_b, f"{alias}.{unique}-moved")
            beats = _own_records(cluster_b, "heartbeats", alias)
            checkpoints = _own_records(cluster_b, f"{alias}.checkpoints.internal", unique)
            mirror.stop()
        assert all(_MARK in each.headers for each in [*beats, *checkpoints])
        assert committed(cluster_b.bootstrap, f"{alias}.{secret}") == []
        assert committed(cluster_b.bootstrap, f"{alias}.{route}") == []
    of_java, ours = copies.values()
    assert _plain(ours, of_java=False) == _plain(of_java, of_java=True)
    moved_by_java, moved_by_us = moved.values()
    assert _plain(moved_by_us, of_java=False) == _plain(moved_by_java, of_java=True)
    assert _plain(moved_by_us, of_java=False) == _plain(ours, of_java=False)
    assert 20 < len(ours) < 62
    assert {each.headers for each in ours} == {
        (_MARK,),
        (("kept", b"\xff\x00"), _MARK),
        (("drop2", b"x"), _MARK),
    }


_CODE = """
from dataclasses import replace

import pyarrow as pa


def mark(record):
    if record.value is None:
        return []
    return [replace(record, headers=(*record.headers, ("mirrored", b"7")))]


def mark_columns(batch):
    batch = batch.filter(batch.column("value").is_valid())
    at = batch.schema.get_field_index("headers")
    marked = [
        [*headers, {"key": "mirrored", "value": b"7"}] for headers in batch.column(at).to_pylist()
    ]
    return batch.set_column(at, "headers", pa.array(marked, batch.schema.field(at).type))
"""
_TOMBSTONES_MARKED = {
    "transforms": "tombstones, mark",
    "transforms.tombstones.type": "Filter",
    "transforms.tombstones.predicate": "isTombstone",
    "transforms.mark.type": "InsertHeader",
    "transforms.mark.header": "mirrored",
    "transforms.mark.value.literal": "7",
    "predicates": "isTombstone",
    "predicates.isTombstone.type": "RecordIsTombstone",
}
_WAYS = {
    "bytes": {},
    "names": _TOMBSTONES_MARKED,
    "sql": {
        "transforms.sql.where": "value IS NOT NULL",
        "transforms.sql.headers": "array_append(headers, "
        "named_struct('key', 'mirrored', 'value', CAST('7' AS BINARY)))",
    },
    "handler": {"message.handler": "marking_code:mark"},
    "arrow": {"arrow.function": "marking_code:mark_columns"},
}


def test_each_way_to_change_records_makes_the_copies_that_java_makes(
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One input, in one mirror of five flows, whose sources are the same cluster."""
    (tmp_path / "marking_code.py").write_text(_CODE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    create_topic(cluster_a.bootstrap, unique, 2)
    produce(cluster_a.bootstrap, unique, _samples(), codec="lz4")
    copies: dict[str, list[Sample]] = {}
    for command, ways in ((java_mirror, {"java": _TOMBSTONES_MARKED}), (None, _WAYS)):
        text = _several(cluster_a, cluster_b, ways, topic=unique)
        with Mirror(tmp_path, text, command=command) as mirror:
            for way in ways:
                copies[way] = _awaited(cluster_b, f"{way}.{unique}")
            mirror.stop()
    of_bytes, of_java = copies.pop("bytes"), _plain(copies.pop("java"), of_java=True)
    assert of_bytes == committed(cluster_a.bootstrap, unique)
    assert [each for each in of_java if each.value is None or _MARK not in each.headers] == []
    assert {way: _plain(found, of_java=False) for way, found in copies.items()} == dict.fromkeys(
        copies, of_java
    )


def _several(
    source: Cluster, target: Cluster, ways: Mapping[str, Mapping[str, str]], *, topic: str
) -> str:
    """A properties file with a flow for each way; its alias names the source."""
    settings = {
        "emit.heartbeats.enabled": "false",
        "emit.checkpoints.enabled": "false",
        "header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter",
    }
    for way, changes in ways.items():
        flow = {"enabled": "true", "topics": topic, "tasks.max": "1", **changes}
        settings |= {f"{way}->B.{key}": value for key, value in flow.items()}
    clusters = {**dict.fromkeys(ways, source.bootstrap), "B": target.bootstrap}
    return properties(clusters, settings)


def _awaited(cluster: Cluster, topic: str) -> list[Sample]:
    return eventually(lambda: committed(cluster.bootstrap, topic), until=_is_complete, timeout=120)


def _own_records(cluster: Cluster, topic: str, name: str) -> list[Sample]:
    """Those with a name in their keys; awaits the first."""

    def found() -> list[Sample]:
        records = committed(cluster.bootstrap, topic)
        return [each for each in records if name.encode() in (each.key or b"")]

    return eventually(found, timeout=60)
