"""Groups of consumers before Kafka 0.9, as ZooKeeper has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from kazoo.handlers.threading import KazooTimeoutError

from mm2.cli.mm2 import main
from mm2.client import zookeeper_groups as groups
from mm2.client.zookeeper_consumers import threads_of
from mm2.client.zookeeper_groups import OwnedOffset
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import Unavailable
from mm2.kafka.security.zookeeper_tls import TlsHandler
from tests.support.zookeeper_tree import ZooKeeperTree


def test_a_partition_is_shown_that_has_an_offset_or_an_owner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = ZooKeeperTree(
        {
            "/consumers/g/offsets/t/0": "7",
            "/consumers/g/offsets/t/1": "8",
            "/consumers/g/owners/t/1": "c-0",
            "/consumers/g/owners/t/2": "c-1",
            "/consumers/g/owners/new/0": "c-0",
            "/consumers/g/offsets/t/3": "nothing",
            "/consumers/g/offsets/t/x": "9",
        }
    )
    monkeypatch.setattr(groups, "KazooClient", lambda **_: tree)
    found = groups.zookeeper_groups("z:1", ["g", "h"])
    assert found == {
        "g": {
            TopicPartition(TopicName("t"), 0): OwnedOffset(7, None),
            TopicPartition(TopicName("t"), 1): OwnedOffset(8, "c-0"),
            TopicPartition(TopicName("t"), 2): OwnedOffset(None, "c-1"),
            TopicPartition(TopicName("new"), 0): OwnedOffset(None, "c-0"),
        },
        "h": {},
    }


_TOPICS = ["__consumer_offsets", "orders", "orders.old", "payments"]


@pytest.mark.parametrize(
    ("registration", "topics"),
    [
        ('{"version":1,"subscription":{"orders":1,"new":2},"pattern":"static"}', "orders new new"),
        ('{"version":1,"subscription":{"orders":1}}', "orders"),
        ('{"subscription":{"orders.*":1},"pattern":"white_list"}', "orders orders.old"),
        ('{"subscription":{"orders.*":2},"pattern":"black_list"}', "payments payments"),
        ('{"subscription":{".*":1},"pattern":"white_list"}', "orders orders.old payments"),
        ('{"subscription":{"(":1},"pattern":"white_list"}', ""),
        ('{"subscription":{"orders":"many"}}', ""),
        ('{"subscription":[]}', ""),
        ("[]", ""),
        ("2", ""),
        ("", ""),
    ],
)
def test_consumers_have_threads_for_the_topics_that_they_name(
    registration: str, topics: str
) -> None:
    found = threads_of("c", registration, _TOPICS)
    assert [topic for topic, threads in found.items() for _ in threads] == topics.split()
    assert all(each == [f"c-{n}" for n in range(len(each))] for each in found.values())


def _verified(monkeypatch: pytest.MonkeyPatch, nodes: dict[str, str]) -> tuple[int, list[str], str]:
    tree = ZooKeeperTree(nodes)
    monkeypatch.setattr(groups, "KazooClient", lambda **_: tree)
    words = ["verify", "rebalance", "--zookeeper", "z:1", "--group", "g", "--format", "json"]
    done = CliRunner().invoke(main, words)
    return done.exit_code, [row["owners"] for row in json.loads(done.stdout)], done.stderr


_GROUP = {
    "/brokers/topics/t": '{"version":1,"partitions":{"0":[1],"1":[1],"2":[1]}}',
    "/consumers/g/ids/c": '{"version":1,"subscription":{"t":2},"pattern":"static"}',
    "/consumers/g/owners/t/0": "c-0",
    "/consumers/g/owners/t/1": "c-1",
    "/consumers/g/owners/t/2": "c-0",
}


@pytest.mark.parametrize(
    ("changes", "owners", "told"),
    [
        ({}, ["one", "one", "one"], "Each partition has one owner."),
        ({"owners/t/1": "d-0"}, ["one", "no member", "one"], "1 of 3 partitions are wrong"),
        ({"owners/t/1": "c-2"}, ["one", "no member", "one"], "1 of 3 partitions are wrong"),
        ({"owners/t/2": None}, ["one", "one", "none"], "1 of 3 partitions are wrong"),
        (
            {"owners/t/7": "c-0"},
            ["one", "one", "one", "no such partition"],
            "1 of 4 partitions are wrong",
        ),
        ({"ids/c": None}, [], "group g has no members (ZooKeeper)"),
        ({"ids/c": "?"}, [], "members name no topic"),
    ],
)
def test_each_partition_is_to_have_one_owner_that_lives(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, str | None], owners: list[str], told: str
) -> None:
    wanted = _GROUP | {f"/consumers/g/{path}": value for path, value in changes.items()}
    nodes = {path: value for path, value in wanted.items() if value is not None}
    status, found, says = _verified(monkeypatch, nodes)
    assert found == owners
    assert told in says
    assert status == int(bool(changes))


_FLAG = "--zk-tls-config-file"
_ENABLED = "zookeeper.ssl.client.enable=true\n"


@pytest.mark.parametrize(
    ("command", "text", "said"),
    [
        ("verify rebalance --group g --bootstrap-server a:1", _ENABLED, "belongs to --zookeeper"),
        (
            "offset-manager check --group g --bootstrap-server a:1",
            _ENABLED,
            "belongs to --zookeeper",
        ),
        (
            "verify rebalance --group g --zookeeper z:1",
            "zookeeper.ssl.truststore.location=x",
            "zookeeper.ssl.client.enable=true is missing",
        ),
    ],
)
def test_a_file_for_tls_that_would_not_be_obeyed_is_refused(
    tmp_path: Path, command: str, text: str, said: str
) -> None:
    file = tmp_path / "zk.properties"
    file.write_text(text)
    done = CliRunner().invoke(main, [*command.split(), _FLAG, str(file)])
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_trust_store_for_zookeeper_that_is_not_there_is_named(tmp_path: Path) -> None:
    file = tmp_path / "zk.properties"
    file.write_text(f"{_ENABLED}zookeeper.ssl.truststore.location={tmp_path}/none.p12\n")
    words = ["verify", "rebalance", "--group", "g", "--zookeeper", "z:1", _FLAG, str(file)]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1
    assert f"{tmp_path}/none.p12" in done.stderr


def test_why_tls_fails_is_said_in_place_of_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused(TlsHandler):
        def __init__(self, _: object) -> None:
            self.trouble = "certificate verify failed"

    class NeverThere(ZooKeeperTree):
        def start(self, timeout: float) -> None:
            raise KazooTimeoutError(f"Connection time-out after {timeout}")

    monkeypatch.setattr(groups, "TlsHandler", Refused)
    monkeypatch.setattr(groups, "KazooClient", lambda **_: NeverThere({}))
    with pytest.raises(Unavailable, match=r"z:1: certificate verify failed"):
        groups.zookeeper_groups("z:1", ["g"], {})
