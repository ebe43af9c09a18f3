"""The how-tos' commands of ``mm2`` and ``curl`` are run as they are written, beside a mirror."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from mm2.demo.broker_settings import free_ports
from tests.support.cluster import KafkaCluster
from tests.support.connect import distributed, sample
from tests.support.eventually import eventually
from tests.support.layout import ROOT
from tests.support.rest_client import RestClient
from tests.support.shown_scene import Scene, mirrored

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(600)]

_PAGES = ROOT / "docs" / "how-to"
_COMMAND = re.compile(r"(?: {3,4})?((?:mm2 [a-z-]+|curl) .*)")
_INDENTED = "    mm2 "
_FENCE = "```"
_ELSEWHERE = {
    " --watch": "integration/test_documented_procedures.py",
    " --follow": "integration/test_documented_procedures.py",
    " --url": "unit/cli/test_events_command.py",
    "offset-manager serve ": "integration/test_offset_manager.py",
    "offset-manager check ": "integration/test_offset_manager_shown.py",
    "offset-manager load-test ": "integration/test_offset_load.py",
    "verify rebalance --zookeeper ": "integration/test_verify_rebalance.py",
    "mm2 dump ": "integration/test_dump_command.py",
    "mm2 dump-log ": "unit/cli/test_dump_log.py",
    "mm2 package-env ": "integration/test_spark_cluster.py",
}
"""Commands that do not end, take long or need files of a broker, and the tests that run them."""

_OF_OTHERS = {
    ":8081/": "a schema registry, which is no part of mm2",
    " --topics _schemas": "a flow that copies a registry, as that of the pages does not",
}
"""Parts of commands that are not run, and what they ask."""

_STOPPED = {"move-positions.md"}
"""Pages that say that the flow is to be stopped first."""

_LAST = {*_STOPPED, "use-the-rest-interface.md"}
"""Pages that make copies anew, or have other topics copied."""

_OF_WORKERS = "run-in-connect.md"
"""Its commands ask a worker of Connect."""

_STOP, _RESUME = "mm2 flows stop mm2.properties", "mm2 flows resume mm2.properties"


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


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with (
        mirrored(tmp_path_factory.mktemp("pages")) as scene,
        _billing(scene.source, "orders"),
        _billing(scene.target, "A.orders"),
    ):
        yield scene


@contextmanager
def _billing(cluster: KafkaCluster, topic: str) -> Iterator[None]:
    """A member of the group ``billing`` that has read and committed some records."""
    settings = {"bootstrap.servers": cluster.bootstrap, "auto.offset.reset": "earliest"}
    # It stays a member without another poll while all pages are tried.
    settings["max.poll.interval.ms"] = "3600000"
    consumer = Consumer({**settings, "group.id": "billing", "enable.auto.commit": False})
    try:
        consumer.subscribe([topic])
        eventually(lambda: consumer.consume(20, timeout=1), until=lambda found: len(found) > 8)
        consumer.commit(asynchronous=False)
        yield
    finally:
        consumer.close()


@contextmanager
def _worker(scene: Scene) -> Iterator[int]:
    """The port of a worker of Connect at the target, which has no connectors yet."""
    (port,) = free_ports(1)
    listeners = {"listeners": f"http://127.0.0.1:{port}"}
    text = sample("connect-distributed.properties", (scene.source, scene.target), listeners)
    with distributed(scene.folder, text) as worker:
        eventually(lambda: RestClient(port).ask("GET", "/connectors") == [])
        yield port
        assert worker.stop() == 0


def test_commands_do_what_their_pages_say(scene: Scene) -> None:
    """All in one order: some pages change what others show."""
    failed, passed = {}, set()
    pages = {page.name for page in _PAGES.glob("*.md")} - {_OF_WORKERS}
    for page in sorted(pages, key=lambda page: (page in _LAST, page)):
        commands = _commands(_PAGES / page)
        if page in _STOPPED:
            commands = [_STOP, *commands, _RESUME]
        for command in commands:
            words = tuple(shlex.split(command, comments=True))
            if words in passed and words[0] != "curl":
                continue
            ended = scene.run(page, command)
            if ended.returncode == 0:
                passed.add(words)
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
