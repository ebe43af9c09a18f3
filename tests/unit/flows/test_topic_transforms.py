"""Connect's transforms say which topics leave the byte path, and work behind a message handler."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from flows.source.transform.message_handler import handled
from flows.source.transform.topic_transforms import TopicTransforms
from mm2.config.connector_settings import TransformSettings
from mm2.core.handled_records import SourceRecord, TargetRecord
from mm2.core.internal_records import Heartbeat
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName
from mm2.core.transforms.provenance import CLUSTER
from mm2.errors import TransformError
from tests.support.batches import Plain, write_batch
from tests.support.stage_bench import StageBench
from tests.support.transform_chains import record

_FLOW = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
_PAYMENTS = TopicName("payments")
_REMOTE = TopicName("A.payments")
_MARK = {
    "transforms": "mark",
    "transforms.mark.type": "InsertHeader",
    "transforms.mark.header": "h",
    "transforms.mark.value.literal": "x",
}
_ONLY_PAYMENTS = {
    "transforms.mark.predicate": "p",
    "predicates": "p",
    "predicates.p.type": "TopicNameMatches",
    "predicates.p.pattern": r"A\.payments",
}
_DROP_TOMBSTONES = {
    "transforms": "drop",
    "transforms.drop.type": "Filter",
    "transforms.drop.predicate": "p",
    "predicates": "p",
    "predicates.p.type": "RecordIsTombstone",
}
_MASK = {
    "transforms": "mask",
    "transforms.mask.type": "MaskField$Value",
    "transforms.mask.fields": "f",
}
_HANDLERS = "tests.support.user_handlers"


def _transforms(settings: TransformSettings) -> TopicTransforms:
    return TopicTransforms(_FLOW, settings)


def _becomes(
    settings: TransformSettings, before: SourceRecord
) -> list[SourceRecord | TargetRecord]:
    handle = _transforms(settings).of(_PAYMENTS, _REMOTE)
    assert handle is not None
    return list(asyncio.run(handled(handle, before)))


def test_without_transforms_no_topic_leaves_the_byte_path() -> None:
    assert _transforms(TransformSettings()).of(_PAYMENTS, _REMOTE) is None


def test_a_topic_that_all_predicates_exclude_stays_on_the_byte_path() -> None:
    transforms = _transforms(TransformSettings(connect={**_MARK, **_ONLY_PAYMENTS}))
    assert transforms.of(_PAYMENTS, _REMOTE) is not None
    assert transforms.of(TopicName("orders"), TopicName("A.orders")) is None


def test_predicates_see_the_name_of_the_copy() -> None:
    transforms = _transforms(TransformSettings(connect={**_MARK, **_ONLY_PAYMENTS}))
    assert transforms.of(TopicName("A.payments"), TopicName("B.A.payments")) is None


_BEAT = Heartbeat(ClusterAlias("C"), ClusterAlias("A"), 5)
_NAMED_LIKE_HEARTBEATS = pytest.mark.parametrize(
    "topic",
    [
        "heartbeats",
        "B.heartbeats",
        "iot.heartbeats",
        "patient-heartbeats",
        "device_heartbeats",
        "myheartbeats",
    ],
)


def _made(
    settings: TransformSettings, topic: str, before: SourceRecord
) -> list[SourceRecord | TargetRecord]:
    handle = _transforms(settings).of(TopicName(topic), TopicName(f"A.{topic}"))
    assert handle is not None
    return list(asyncio.run(handled(handle, before)))


@_NAMED_LIKE_HEARTBEATS
@pytest.mark.parametrize("handler", [None, "flows.source.transform.message_handler:unchanged"])
def test_a_user_s_records_are_masked_whatever_their_topic_is_called(
    topic: str, handler: str | None
) -> None:
    settings = TransformSettings(connect=_MASK, handler=handler)
    (found,) = _made(settings, topic, record(value=b'{"f":"DE12"}'))
    assert found.value == b'{"f":""}'
    with pytest.raises(TransformError):
        _made(settings, topic, record(value=b"no JSON"))


@_NAMED_LIKE_HEARTBEATS
def test_heartbeats_are_not_read_as_json_and_all_else_is_done_to_them(topic: str) -> None:
    beat = record(key=_BEAT.key(), value=_BEAT.value())
    assert _made(TransformSettings(connect=_MASK), topic, beat) == [beat]
    both = {**_MASK, **_MARK, "transforms": "mask, mark"}
    (found,) = _made(TransformSettings(connect=both), topic, beat)
    assert found == record(key=_BEAT.key(), value=_BEAT.value(), headers=(("h", b"x"),))


def test_a_heartbeat_in_a_topic_of_another_name_is_a_record_like_any() -> None:
    with pytest.raises(TransformError):
        _made(
            TransformSettings(connect=_MASK),
            "orders",
            record(key=_BEAT.key(), value=_BEAT.value()),
        )


@_NAMED_LIKE_HEARTBEATS
def test_a_user_s_records_say_where_they_come_from_and_heartbeats_do_not(topic: str) -> None:
    settings = TransformSettings(provenance=True)
    (found,) = _made(settings, topic, record(value=b"{}"))
    assert (CLUSTER, b"A") in found.headers
    beat = record(key=_BEAT.key(), value=_BEAT.value())
    assert _made(settings, topic, beat) == [beat]


def test_a_record_becomes_one_or_none() -> None:
    settings = TransformSettings(connect=_DROP_TOMBSTONES)
    assert _becomes(settings, before := record()) == [before]
    assert _becomes(settings, record(value=None)) == []


@pytest.mark.parametrize("handler", ["fan_out", "fan_out_later"])
def test_transforms_are_applied_to_all_that_a_handler_returns(handler: str) -> None:
    settings = TransformSettings(handler=f"{_HANDLERS}:{handler}", connect=_MARK)
    found = _becomes(settings, record(value=b"3"))
    assert found == [record(value=b"3.%d" % n, headers=(("h", b"x"),)) for n in range(3)]


def test_a_record_to_send_keeps_its_partition_and_time_in_a_transform() -> None:
    settings = TransformSettings(handler=f"{_HANDLERS}:to_send", connect=_MARK)
    (found,) = _becomes(settings, record(value=b"5"))
    assert found == TargetRecord(
        topic="A.t", key=b"k", value=b"5", partition=None, timestamp=5, headers=(("h", b"x"),)
    )


def test_a_record_to_send_may_be_dropped() -> None:
    settings = TransformSettings(handler=f"{_HANDLERS}:to_send", connect=_DROP_TOMBSTONES)
    assert _becomes(settings, record(value=None)) == []


async def test_records_that_provenance_leaves_out_are_counted_and_told_of_once() -> None:
    settings = TransformSettings(provenance=True, connect=_DROP_TOMBSTONES)
    transforms = _transforms(settings)
    handle = transforms.of(_PAYMENTS, _REMOTE)
    assert handle is not None
    bench = StageBench(handle)
    back = ((CLUSTER.encode(), b"B"),)
    with capture_logs() as logged:
        await bench.copy(
            write_batch([
                Plain(offset=0, value=b"new"),
                Plain(offset=1, value=b"from there", headers=back),
                Plain(offset=2, value=b"from there", headers=back),
                Plain(offset=3, value=None),
            ])
        )  # fmt: skip
    assert bench.values == [b"new"]
    assert bench.partition.progress.left_out == 3
    (told,) = logged
    assert told["event"] == "source.origin_left_out"
    assert (told["topic"], told["partition"], told["offset"]) == ("payments", 0, 1)
