"""Message handlers, rebalance listeners and ``--repartition`` of ``kafka-mirror-maker``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mm2.core.murmur2 import partition_for
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.legacy_tool import (
    committed_offsets,
    copies_when,
    events_of,
    legacy_tool,
)
from tests.support.records import Sample, create_topic, everything, produce

pytestmark = [pytest.mark.broker, pytest.mark.spark]

USER_CODE = """
import asyncio

from mm2.core.handled_records import SourceRecord, TargetRecord


class Splits:
    def init(self, args):
        self.prefix = args

    def handle(self, record):
        if record.value == b"drop":
            return []
        if record.value == b"bad":
            raise ValueError("no such record")
        again = TargetRecord(topic=self.prefix + record.topic, key=record.key, value=b"copy")
        return [record, again]


class SplitsLater(Splits):
    async def handle(self, record):
        await asyncio.sleep(0.001)
        return super().handle(record)


class Spreads:
    def init(self, args):
        self.path = args

    def handle(self, record):
        with open(self.path, "a") as file:
            print(record.value, file=file)
        topic = f"{record.topic}.{int(record.value) // 30}"
        return [TargetRecord(topic=topic, key=record.key, value=record.value)]


class Unready:
    def init(self, args):
        raise LookupError(f"no such mark: {args}")


class Notes:
    def __init__(self, args):
        self.path = args

    def before_starting_fetchers(self, consumer_id, assignment):
        self.note(f"started {assignment}")

    async def on_partitions_assigned(self, partitions):
        await asyncio.sleep(0)
        self.note(f"assigned {[tuple(each) for each in partitions]}")

    def before_releasing_partitions(self, partitions):
        self.note(f"releasing {partitions}")

    def on_partitions_revoked(self, partitions):
        self.note(f"revoked {[tuple(each) for each in partitions]}")

    def note(self, text):
        with open(self.path, "a") as file:
            print(text, file=file)
"""


@pytest.fixture
def user_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "legacy_user_code.py").write_text(USER_CODE)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    return tmp_path / "notes"


@pytest.mark.parametrize("handler", ["Splits", "SplitsLater"])
def test_a_handler_renames_splits_and_drops_and_a_listener_is_called(
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    user_code: Path,
    handler: str,
) -> None:
    topic, group, folder = f"{unique}-t", f"{unique}-g", user_code.parent
    create_topic(cluster_a.bootstrap, topic, partitions=2)
    produce(
        cluster_a.bootstrap,
        topic,
        [Sample(value=value, partition=1) for value in (b"1", b"drop", b"2")],
    )
    with legacy_tool(
        folder, cluster_a, cluster_b, group, "--include", topic,
        "--message.handler", f"legacy_user_code:{handler}", "--message.handler.args", "more.",
        "--consumer.rebalance.listener", "legacy_user_code:Notes",
        "--rebalance.listener.args", str(user_code),
    ) as tool:  # fmt: skip
        assert [(c.value, c.partition) for c in copies_when(cluster_b, topic, 2)] == [
            (b"1", 1),
            (b"2", 1),
        ]
        assert [c.value for c in copies_when(cluster_b, f"more.{topic}", 2)] == [b"copy"] * 2
        assert tool.stop() == 0
    assert committed_offsets(cluster_a, group, topic, 2)[1] == 3
    owned = f"[('{topic}', 0), ('{topic}', 1)]"
    assert user_code.read_text().splitlines() == [
        f"started {{'{topic}': {{0: '{group}-0', 1: '{group}-0'}}}}",
        f"assigned {owned}",
        f"releasing {{'{topic}': {{0, 1}}}}",
        f"revoked {owned}",
    ]


@pytest.mark.usefixtures("user_code")
def test_a_handler_that_fails_ends_the_tool_or_is_passed_over(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    topic, group = f"{unique}-t", f"{unique}-g"
    create_topic(cluster_a.bootstrap, topic)
    produce(cluster_a.bootstrap, topic, [Sample(value=v) for v in (b"1", b"bad", b"2")])
    arguments = ("--include", topic, "--message.handler", "legacy_user_code:Splits")
    with legacy_tool(tmp_path, cluster_a, cluster_b, group, *arguments) as tool:
        assert tool.process.wait(PATIENCE_S) == 1
        assert "no such record" in tool.text()
    assert committed_offsets(cluster_a, group, topic) == [1]
    goes_on = ("--abort.on.send.failure", "false")
    with legacy_tool(tmp_path, cluster_a, cluster_b, f"{group}-2", *arguments, *goes_on) as tool:
        eventually(lambda: b"2" in [c.value for c in everything(cluster_b.bootstrap, topic)])
        assert tool.stop() == 0
        (skipped,) = [e for e in events_of(tool) if e["event"] == "source.record_skipped"]
        assert skipped["upstream_offset"] == 1
    values = [each.value for each in everything(cluster_b.bootstrap, topic)]
    assert b"2" in values
    assert b"bad" not in values
    assert committed_offsets(cluster_a, f"{group}-2", topic) == [3]


def test_no_record_for_a_topic_that_is_new_is_skipped_while_the_target_is_away_either(
    cluster_a: Cluster, unique: str, user_code: Path
) -> None:
    topic, group = f"{unique}-t", f"{unique}-g"
    create_topic(cluster_a.bootstrap, topic, partitions=3)
    samples = [Sample(value=b"%d" % n, partition=n % 3) for n in range(300)]
    produce(cluster_a.bootstrap, topic, samples[:150])
    with KafkaCluster("T") as target, legacy_tool(
        user_code.parent, cluster_a, target, group, "--include", topic,
        "--message.handler", "legacy_user_code:Spreads", "--message.handler.args", str(user_code),
        "--abort.on.send.failure", "false",
        producer={"default.api.timeout.ms": "1000"},
    ) as tool:  # fmt: skip
        for number in range(5):
            copies_when(target, f"{topic}.{number}", 30)
        target.kill()
        produce(cluster_a.bootstrap, topic, samples[150:])
        eventually(lambda: len(user_code.read_text().splitlines()) > 150)
        target.restart()
        for number in range(10):
            copies = copies_when(target, f"{topic}.{number}", 30)
            wanted = {b"%d" % n for n in range(30 * number, 30 * number + 30)}
            assert {each.value for each in copies} == wanted
        assert tool.stop() == 0
        assert not [each for each in events_of(tool) if each["event"] == "source.record_skipped"]
    assert committed_offsets(cluster_a, group, topic, 3) == [100] * 3


@pytest.mark.usefixtures("user_code")
def test_a_handler_that_cannot_be_created_is_named_with_its_flag(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    arguments = ("--message.handler", "legacy_user_code:Unready", "--message.handler.args", "x")
    with legacy_tool(
        tmp_path, cluster_a, cluster_b, f"{unique}-g", "--include", unique, *arguments
    ) as tool:
        assert tool.process.wait(PATIENCE_S) == 1
        (failed,) = [each for each in events_of(tool) if each["event"] == "stream.failed"]
        assert "Traceback" not in tool.text()
    reason = "LookupError('no such mark: x')"
    assert failed["error"] == f"{arguments[0]} {arguments[1]} cannot be used: {reason}"


def test_repartition_puts_keys_where_javas_producer_would(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    topic, group = f"{unique}-t", f"{unique}-g"
    create_topic(cluster_a.bootstrap, topic, partitions=3)
    samples = [Sample(key=b"key-%d" % (n % 20), value=b"%d" % n, partition=0) for n in range(200)]
    produce(cluster_a.bootstrap, topic, samples)
    arguments = ("--include", topic, "--repartition")
    with legacy_tool(tmp_path, cluster_a, cluster_b, group, *arguments) as tool:
        copies = copies_when(cluster_b, topic, 200)
        assert tool.stop() == 0
    assert all(copy.partition == partition_for(copy.key or b"", 3) for copy in copies)
    for key in {sample.key for sample in samples}:
        wanted = [sample.value for sample in samples if sample.key == key]
        assert [copy.value for copy in copies if copy.key == key] == wanted
    assert committed_offsets(cluster_a, group, topic, 3)[0] == 200
