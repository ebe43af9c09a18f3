"""The how-tos' commands of ``mm2`` and ``curl`` are run as they are written, beside a mirror."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from mm2.demo.broker_settings import free_ports
from tests.support.cluster import KafkaCluster
from tests.support.connect import distributed, sample
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.layout import ROOT
from tests.support.mirror import Mirror, properties
from tests.support.records import Sample, consume, create_topic, produce
from tests.support.rest_client import RestClient

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(600)]

_PAGES = ROOT / "docs" / "how-to"
_COMMAND = re.compile(r"(?: {3,4})?((?:mm2 [a-z-]+|curl) .*)")
_INDENTED = "    mm2 "
_FENCE = "```"
_ELSEWHERE = {
    " --watch": "integration/test_status_command.py",
    " --follow": "unit/cli/test_events_command.py",
    " --url": "unit/cli/test_events_command.py",
    "offset-manager serve ": "integration/test_offset_manager.py",
    "offset-manager check ": "integration/test_offset_manager_shown.py",
    "offset-manager load-test ": "integration/test_offset_load.py",
    "verify rebalance --zookeeper ": "integration/test_verify_rebalance.py",
    "mm2 dump ": "integration/test_dump_command.py",
    "mm2 dump-log ": "unit/cli/test_dump_log.py",
    "mm2 package-env ": "integration/test_spark_cluster.py",
    "mm2 verify mm2": "integration/test_verify_command.py",
}
"""Commands that do not end, take long or need files of a broker, and the tests that run them."""

_OF_OTHERS = {":8081/": "a schema registry, which is no part of mm2"}
"""Parts of commands that are not run, and what they ask."""

_STOPPED = {"move-positions.md"}
"""Pages that say that the flow is to be stopped first."""

_LAST = {*_STOPPED, "use-the-rest-interface.md"}
"""Pages that make copies anew, or have other topics copied."""

_OF_WORKERS = "run-in-connect.md"
"""Its commands ask a worker of Connect."""

_NODE = re.compile(r"\b(localhost|127\.0\.0\.1):8083\b")

_CURL, _CURL_OR_FAIL = "curl ", "curl -S --fail-with-body "
"""The latter ends with an error where the answer is one."""

_ASK_AGAIN = re.compile(r'"error_code": ?409\b')
"""What the pages say of this answer."""

_STOP, _RESUME = "mm2 flows stop mm2.properties", "mm2 flows resume mm2.properties"

_NEW_FILE = "mm2 init "

_OF_A_PARTITION = 110
"""Records; pages name offsets below 100."""


def _commands(page: Path) -> list[str]:
    """The commands in the blocks of a page, in their order."""
    found, is_fenced = [], False
    lines = iter(page.read_text().splitlines())
    for line in lines:
        if line.strip().startswith(_FENCE):
            is_fenced = not is_fenced
        elif (is_fenced or line.startswith(_INDENTED)) and (match := _COMMAND.fullmatch(line)):
            found.append(_whole(match[1], lines))
    left_out = {**_ELSEWHERE, **_OF_OTHERS}
    return [line for line in found if not any(part in line for part in left_out)]


def _whole(command: str, more: Iterator[str]) -> str:
    """A command with the lines that belong to it, by its quotes and its last character."""
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return _whole(f"{command}\n{next(more)}", more)
    return command


class _Scene:
    """Two clusters, and a folder for each page."""

    def __init__(self, source: KafkaCluster, target: KafkaCluster, folder: Path) -> None:
        self.source, self.target, self.folder = source, target, folder
        (self._port,) = free_ports(1)
        self._env = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "XDG_DATA_HOME": str(folder),
        }

    def text(self) -> str:
        """The properties file of the pages."""
        clusters = {"A": self.source.bootstrap, "B": self.target.bootstrap}
        topics = {"A->B.enabled": "true", "A->B.topics": "orders, payments.*", "tasks.max": "3"}
        listener = f"http://127.0.0.1:{self._port}"
        return properties(clusters, {**topics, "listeners": listener, "rest.read.only": "false"})

    def run(
        self, page: str, command: str, *, port: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        """
        Runs a command in the folder of its page, which has what the page speaks of.

        What asks the node on this machine, asks the mirror, or who listens on ``port``.
        """
        folder = self.folder / page
        if not folder.exists():
            folder.mkdir()
            (folder / "mm2.properties").write_text(self.text())
            if "import strimzi" in (_PAGES / page).read_text():
                exported = self.run(page, "mm2 export mm2.properties --as strimzi").stdout
                (folder / "kafka-mirror-maker-2.yaml").write_text(exported)
        servers = {
            "kafka-1:9092": self.source,
            "kafka-2:9092": self.target,
            "127.0.0.1:9092": self.source,
        }
        for written, cluster in servers.items():
            command = command.replace(written, cluster.bootstrap)
        command = command.replace("primary->standby", "A->B")
        if command.startswith(_NEW_FILE):
            (folder / "mm2.properties").unlink()
        command = _NODE.sub(rf"\1:{port or self._port}", command)
        command = command.replace(_CURL, _CURL_OR_FAIL, 1)
        return eventually(
            lambda: self._ended(command, folder),
            until=lambda ended: not _ASK_AGAIN.search(ended.stdout),
        )

    def _ended(self, command: str, folder: Path) -> subprocess.CompletedProcess[str]:
        words = ["/bin/sh", "-c", command]
        return subprocess.run(  # noqa: PLW1510 - its status is looked at
            words, cwd=folder, env=self._env, text=True, capture_output=True, timeout=PATIENCE_S
        )


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Scene]:
    """A mirror that has copied some records of what the pages name."""
    folder = tmp_path_factory.mktemp("pages")
    with KafkaCluster("A") as source, KafkaCluster("B") as target:
        for topic, partitions in (("orders", 4), ("payments.eu", 1), ("_schemas", 1)):
            create_topic(source.bootstrap, topic, partitions)
            count = partitions * _OF_A_PARTITION
            samples = [Sample(value=b"%d" % n, partition=n % partitions) for n in range(count)]
            produce(source.bootstrap, topic, samples)
        scene = _Scene(source, target, folder)
        with Mirror(folder, scene.text()) as mirror:
            consume(target.bootstrap, "A.orders", 4 * _OF_A_PARTITION)
            with _billing(source, "orders"), _billing(target, "A.orders"):
                yield scene
            assert mirror.stop() == 0


@contextmanager
def _billing(cluster: KafkaCluster, topic: str) -> Iterator[None]:
    """A member of the group ``billing`` that has read and committed some records."""
    settings = {"bootstrap.servers": cluster.bootstrap, "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "group.id": "billing", "enable.auto.commit": False})
    try:
        consumer.subscribe([topic])
        eventually(lambda: consumer.consume(20, timeout=1), until=lambda found: len(found) > 8)
        consumer.commit(asynchronous=False)
        yield
    finally:
        consumer.close()


@contextmanager
def _worker(scene: _Scene) -> Iterator[int]:
    """The port of a worker of Connect at the target, which has no connectors yet."""
    (port,) = free_ports(1)
    listeners = {"listeners": f"http://127.0.0.1:{port}"}
    text = sample("connect-distributed.properties", (scene.source, scene.target), listeners)
    with distributed(scene.folder, text) as worker:
        eventually(lambda: RestClient(port).ask("GET", "/connectors") == [])
        yield port
        assert worker.stop() == 0


def test_commands_do_what_their_pages_say(scene: _Scene) -> None:
    """All in one order: some pages change what others show."""
    failed, passed = {}, set()
    pages = {page.name for page in _PAGES.glob("*.md")} - {_OF_WORKERS}
    for page in sorted(pages, key=lambda page: (page in _LAST, page)):
        commands = _commands(_PAGES / page)
        if page in _STOPPED:
            commands = [_STOP, *commands, _RESUME]
        for command in commands:
            if command in passed and not command.startswith(_CURL):
                continue
            ended = scene.run(page, command)
            if ended.returncode == 0:
                passed.add(command)
            else:
                failed[page, command] = (ended.returncode, ended.stdout + ended.stderr)
    assert failed == {}
    with _worker(scene) as port:
        for command in _commands(_PAGES / _OF_WORKERS):
            ended = scene.run(_OF_WORKERS, command, port=port)
            assert ended.returncode == 0, ended.stdout + ended.stderr
    assert len(passed) > 50


@pytest.mark.parametrize(("command", "test"), _ELSEWHERE.items())
def test_all_other_commands_have_tests(command: str, test: str) -> None:
    word = [each.lstrip("-") for each in command.split() if each != "mm2"][-1]
    assert word in (ROOT / "tests" / test).read_text()
