"""The bytes of each kind of record, which nodes of other releases read and have written."""

from __future__ import annotations

import json

import pytest

from mm2.core.leadership.placement import Member
from mm2.core.model import TopicName, TopicPartition
from mm2.core.topics.acls import AclBinding, AclOperation, AclPermission, PatternType
from mm2.errors import SchemaError
from mm2.protocol import checkpoint_progress as checkpoints
from mm2.protocol import command_records as commands
from mm2.protocol import control_records as control
from mm2.protocol import heartbeat_progress as heartbeats
from mm2.protocol import progress_records as progress
from mm2.protocol.control_codec import ControlRecord, decode_control, encode_control, encode_gap
from mm2.protocol.member_metadata import (
    Decision,
    decode_decision,
    decode_member,
    encode_decision,
    encode_member,
)
from mm2.protocol.memory_records import (
    AclMemory,
    MemoryRecord,
    MirroredTopics,
    TopicMemory,
    decode_memory,
    encode_memory,
)

_LEASE = control.Lease(epoch=3, owner="nöde", time_ms=5, lasts_ms=7, digest="d", release="1.0")
_ASSIGNMENT = control.Assignment(
    index=4,
    epoch=3,
    generation=2,
    state=control.BundleState.RUNNING,
    partitions={
        TopicPartition(TopicName("t"), 1): TopicName("A.t"),
        TopicPartition(TopicName("s"), 0): TopicName("A.s"),
        TopicPartition(TopicName("t"), 0): TopicName("A.t"),
    },
    is_drained=True,
)
_MISSING = control.MissingTopic(topic=TopicName("A.t"), epoch=3)
_FLOW = control.DesiredFlowState(
    state=control.FlowState.STOPPED, reason="größer", time_ms=5, by="failover"
)
_GAP = progress.GapReport(kind="records-expired", first=3, end=5, time_ms=7)
_PARTITION = progress.PartitionProgress(
    topic="t", partition=1, remote="A.t", records=2, broker=1, gaps=(_GAP,), error="größer"
)
_BUNDLE = progress.BundleProgress(
    bundle=4, epoch=3, generation=2, time_ms=5, pid=9, partitions=(_PARTITION,), is_last=True
)
_CHECKPOINT = checkpoints.CheckpointProgress(
    time_ms=7,
    groups=2,
    other_types=("ö",),
    active=("g",),
    latencies=(
        checkpoints.CheckpointLatency(
            group="g", topic="A.t", partition=1, last_ms=5, min_ms=3, max_ms=9, avg_ms=4.5
        ),
    ),
)
_HEARTBEAT = heartbeats.HeartbeatProgress(
    time_ms=7,
    last_ms=6,
    ways=(heartbeats.WayProgress(topic="A.heartbeats", way=("A", "B"), hops=1),),
)
_CONNECTOR = commands.DesiredConnectorState(
    connector="MirrorSourceConnector",
    state=commands.ConnectorState.PAUSED,
    reason="größer",
    time_ms=5,
)
_ALTERATIONS = commands.Alterations(changes={"topics": "ö", "groups": None}, time_ms=5, read=4)
_RESTART = commands.RestartCommand(connector="MirrorSourceConnector", task=2, id="x", time_ms=5)
_SETTINGS = commands.LiveSettings(
    epoch=3,
    byte_rate_limit=-1,
    flush_interval_s=1.5,
    transaction_s=None,
    log_levels={"source": "DEBUG"},
    number=2,
)
_DIVISION = commands.RateDivision(epoch=3, portions={1: 0.3333, 0: 0.6}, number=2)
_TOPICS = TopicMemory(
    document=MirroredTopics(cluster="kö", topics=(TopicName("a"), TopicName("ö")))
)
_ACLS = AclMemory(
    document=(
        AclBinding(
            name="A.",
            principal="User:y",
            operation=AclOperation.DESCRIBE,
            permission=AclPermission.DENY,
            host="h",
            pattern_type=PatternType.PREFIXED,
        ),
        AclBinding(name="A.ö", principal="User:x", operation=AclOperation.READ),
    )
)

_WRITTEN: tuple[tuple[tuple[bytes, bytes], bytes, str], ...] = (
    (
        encode_control(_LEASE),
        b"lease",
        (
            '{"version":1,"epoch":3,"owner":"nöde","state":"leading","time_ms":5,"l'
            'asts_ms":7,"digest":"d","release":"1.0"}'
        ),
    ),
    (
        encode_control(_ASSIGNMENT),
        b"bundle-4",
        (
            '{"version":1,"epoch":3,"generation":2,"state":"running","drained":true'
            ',"topics":[{"topic":"s","remote":"A.s","partitions":[0]},{"topic":"t",'
            '"remote":"A.t","partitions":[0,1]}]}'
        ),
    ),
    (encode_control(_MISSING), b"missing-A.t", ('{"version":1,"epoch":3,"topic":"A.t"}')),
    (
        encode_control(_FLOW),
        b"flow",
        ('{"version":1,"state":"stopped","reason":"größer","time_ms":5,"by":"failover"}'),
    ),
    (
        encode_control(_CONNECTOR),
        b"connector-MirrorSourceConnector",
        ('{"version":1,"state":"paused","reason":"größer","time_ms":5}'),
    ),
    (
        encode_control(_ALTERATIONS),
        b"config",
        ('{"version":1,"changes":{"topics":"ö","groups":null},"time_ms":5,"read":4}'),
    ),
    (
        encode_control(_RESTART),
        b"restart-MirrorSourceConnector",
        ('{"version":1,"task":2,"id":"x","time_ms":5}'),
    ),
    (
        encode_control(_SETTINGS),
        b"settings",
        (
            '{"version":1,"epoch":3,"byte_rate_limit":-1,"flush_interval_s":1.5,"tr'
            'ansaction_s":null,"log_levels":{"source":"DEBUG"},"number":2}'
        ),
    ),
    (
        encode_control(_DIVISION),
        b"shares",
        ('{"version":1,"epoch":3,"portions":{"1":0.3333,"0":0.6},"number":2}'),
    ),
    (
        progress.encode_progress(_BUNDLE),
        b"bundle-4",
        (
            '{"version":1,"bundle":4,"epoch":3,"generation":2,"time_ms":5,"pid":9,"'
            'partitions":[{"topic":"t","partition":1,"remote":"A.t","records":2,"by'
            'tes":0,"position":-1,"end":-1,"start":-1,"lag":0,"broker":1,"latency_ms":0,"lost"'
            ':0,"diverged":0,"gaps":[{"kind":"records-expired","first":3,"end":5,"t'
            'ime_ms":7,"is_open":false}],"skipped":0,"error":"größer","co'
            'ntested":false,"first":-1,"dead_letters":0,"pinned_since_ms":-1,"backfi'
            'll":0,"age_ms":[],"replication_ms":[],"live_ms":[],"record_bytes":[],'
            '"left_out":0}],"pace":{"byte_rate_limit":null,"source_throttled_ms":0,"target_throttle'
            'd_ms":0},"load":{"buffer_bytes":0,"buffer_free_bytes":0,"active_record'
            's":0,"commit_ms":[]},"is_last":true,"turn_ms":1000}'
        ),
    ),
    (
        checkpoints.encode_checkpoint_progress(_CHECKPOINT),
        b"checkpoint",
        (
            '{"version":1,"time_ms":7,"groups":2,"other_types":["ö"],"active":'
            '["g"],"latencies":[{"group":"g","topic":"A.t","partition":1,"last_ms":'
            '5,"min_ms":3,"max_ms":9,"avg_ms":4.5,"exact":false}]}'
        ),
    ),
    (
        heartbeats.encode_heartbeats(_HEARTBEAT),
        b"heartbeat",
        (
            '{"version":1,"time_ms":7,"last_ms":6,"ways":[{"topic":"A.heartbeats","'
            'way":["A","B"],"hops":1,"last_ms":-1,"age_ms":-1}]}'
        ),
    ),
    (
        encode_gap(TopicPartition(TopicName("t"), 1), _GAP),
        b"gap-records-expired-1-t",
        (
            '{"version":1,"topic":"t","partition":1,"kind":"records-expired","first'
            '":3,"end":5,"time_ms":7,"is_open":false}'
        ),
    ),
    (
        encode_memory(_TOPICS),
        b"memory-topics",
        '{"version":1,"document":{"cluster":"kö","topics":["a","ö"]}}',
    ),
    (
        encode_memory(_ACLS),
        b"memory-acls",
        (
            '{"version":1,"document":[{"name":"A.","principal":"User:y","operation":"DESCRIBE",'
            '"permission":"DENY","host":"h","resource_type":"TOPIC","pattern_type":"PREFIXED"},'
            '{"name":"A.ö","principal":"User:x","operation":"READ","permission":"ALLOW",'
            '"host":"*","resource_type":"TOPIC","pattern_type":"LITERAL"}]}'
        ),
    ),
)


@pytest.mark.parametrize(("written", "key", "value"), _WRITTEN)
def test_records_are_written_as_before(
    written: tuple[bytes, bytes], key: bytes, value: str
) -> None:
    assert written == (key, value.encode())


def test_texts_may_be_in_ascii_as_earlier_releases_have_written_them() -> None:
    _, value = progress.encode_progress(_BUNDLE)
    in_ascii = json.dumps(json.loads(value)).encode()
    assert in_ascii.isascii()
    assert progress.decode_progress(in_ascii) == _BUNDLE


@pytest.mark.parametrize(
    "record",
    [_LEASE, _ASSIGNMENT, _MISSING, _FLOW, _CONNECTOR, _ALTERATIONS, _RESTART, _SETTINGS],
    ids=lambda record: type(record).__name__,
)
def test_each_kind_of_control_record_is_told_by_its_key(record: ControlRecord) -> None:
    assert decode_control(*encode_control(record)) == record


@pytest.mark.parametrize("record", [_TOPICS, _ACLS], ids=lambda record: type(record).__name__)
def test_what_a_leader_remembers_is_read_again(record: MemoryRecord) -> None:
    _, value = encode_memory(record)
    assert decode_memory(type(record), value) == record


@pytest.mark.parametrize(
    "value",
    [b"{}", b'{"document":7}', b'{"document":[{"name":"t"}]}', b'{"document":["t"]}', b"\0"],
)
def test_memory_that_is_damaged_is_an_error(value: bytes) -> None:
    with pytest.raises(SchemaError, match="control record 'memory-acls' cannot be read"):
        decode_memory(AclMemory, value)


def test_what_members_of_a_group_tell_each_other_is_written_as_before() -> None:
    member = Member(
        node="nöde/B",
        leads={"B->A": 0, "A->B": 7},
        eligible=frozenset({"B->A", "A->B"}),
        release="1.0",
        digest="d",
        is_warm=False,
    )
    written = (
        '{"version":1,"node":"nöde/B","release":"1.0","config":"d","leads":{"A->B":7,"B->A":0},'
        '"could":["A->B","B->A"],"warm":false}'
    ).encode()
    assert encode_member(member) == written
    assert decode_member(written, "id") == member
    decided = Decision(leader="nöde/B", nodes={"x/B": "e", "nöde/B": "d"})
    written = '{"version":1,"leader":"nöde/B","nodes":{"x/B":"e","nöde/B":"d"}}'.encode()
    assert encode_decision(decided) == written
    assert decode_decision(written) == decided
