"""Runbooks are followed as written, and programs that go on are started and ended as shown."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import AdminClient

from mm2.demo.broker_settings import free_ports
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.layout import ROOT
from tests.support.records import commit_group, consume, numbered, produce
from tests.support.rest_client import RestClient
from tests.support.shown_commands import PAGES, shell_lines
from tests.support.shown_scene import Scene, mirrored

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(600)]

_RUNBOOKS = ROOT / "docs" / "runbooks"
_WHERE_A_IS_LOST = "--unplanned"
_ASKS = " plan "
_WATCHES = (" --watch", " --follow --flow")
_IS_WELL = "mm2 status mm2.properties"
_NODE = "connect-mirror-maker "
_IN_BACKGROUND = "-daemon "
_LEGACY = "kafka-mirror-maker --consumer.config source.properties "
_TOOLS = ("kafka-topics.sh --bootstrap-server kafka-1", "kafka-consumer-groups.sh ")
_COMPLETION = "source <("


def _shown(*parts: str) -> list[str]:
    """The lines of all pages that have one of the parts, without comments."""
    lines = (line.partition("  #")[0].strip() for page in PAGES for line in shell_lines(page))
    return [*dict.fromkeys(line for line in lines if any(part in line for part in parts))]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A mirror, and the group ``billing``, whose consumers have been stopped."""
    with mirrored(tmp_path_factory.mktemp("procedures")) as scene:
        commit_group(scene.source.bootstrap, "billing", {("orders", 0): 40, ("orders", 1): 7})
        yield scene


def _follow(scene: Scene, page: str, *, lost: bool | None = None) -> None:
    """
    Runs the commands of a runbook, what it asks before what it does.

    Args:
        lost: whether only those for a lost cluster are run, or only the others.
    """
    for line in sorted(shell_lines(_RUNBOOKS / page), key=lambda line: _ASKS not in line):
        if line.startswith("mm2 ") and lost in (None, _WHERE_A_IS_LOST in line):
            ended = scene.run(page, line)
            assert ended.returncode == 0, f"{line}\n{ended.stdout}{ended.stderr}"


def test_a_group_moves_comes_back_and_moves_when_its_cluster_is_lost(scene: Scene) -> None:
    _follow(scene, "migrate-a-consumer-group.md")
    _follow(scene, "failback.md")
    scene.source.stop_node()
    try:
        _follow(scene, "unplanned-failover.md", lost=True)
    finally:
        scene.source.restart()
    _follow(scene, "unplanned-failover.md", lost=False)
    produce(scene.source.bootstrap, "payments.eu", numbered(0, 1))
    consume(scene.target.bootstrap, "A.payments.eu", 1)


@contextmanager
def _started(scene: Scene, line: str, folder: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A command as it is shown, with the file of its output; it is ended if it has not."""
    output = folder / "output"
    command = f"exec {scene.typed(line)}"
    with (
        output.open("w") as stream,
        subprocess.Popen(
            ["/bin/bash", "-c", command],
            cwd=folder,
            env=scene.env,
            text=True,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield output, process
        finally:
            process.terminate()


def _says(output: Path, process: subprocess.Popen[str], words: str) -> None:
    text = eventually(
        lambda: output.read_text() if output.exists() else "",
        until=lambda text: words in text or process.poll() is not None,
    )
    assert words in text, text


@pytest.mark.parametrize("line", _shown(*_WATCHES))
def test_what_goes_on_shows_something_and_ends_by_ctrl_c(scene: Scene, line: str) -> None:
    folder = scene.folder_of("watches")
    # Its exit status says whether all is well, and another test's node may just have ended.
    eventually(lambda: scene.run("watches", _IS_WELL).returncode, until=lambda code: code == 0)
    with _started(scene, line, folder) as (output, process):
        _says(output, process, "billing" if " groups " in line else "A->B")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) in {0, 128 + signal.SIGINT}, output.read_text()


def _node(scene: Scene, folder: Path) -> RestClient:
    """Writes the file of a node beside the mirror; gives what asks that node."""
    (port,) = free_ports(1)
    (folder / "mm2.properties").write_text(scene.text(port=port))
    return RestClient(port)


@pytest.mark.parametrize(
    "line",
    [line for line in _shown(_NODE) if line.startswith(_NODE) and _IN_BACKGROUND not in line],
)
def test_a_node_starts_as_shown_and_ends_by_a_signal(
    scene: Scene, line: str, tmp_path: Path
) -> None:
    node = _node(scene, tmp_path)
    with _started(scene, line, tmp_path) as (output, process):
        eventually(lambda: node.ask("GET", "/") or process.poll() is not None)
        process.terminate()
        assert process.wait(PATIENCE_S) == 0, output.read_text()


def test_a_node_in_the_background_starts_as_shown(scene: Scene, tmp_path: Path) -> None:
    node = _node(scene, tmp_path)
    (line,) = (line for line in _shown(_NODE) if _IN_BACKGROUND in line)
    with _started(scene, line, tmp_path) as (output, process):
        assert process.wait(PATIENCE_S) == 0, output.read_text()
    (driver,) = (each for each in psutil.process_iter() if _is_driver(each, tmp_path))
    try:
        eventually(lambda: node.ask("GET", "/"))
        assert (tmp_path / "connect-mirror-maker.out").exists()
    finally:
        driver.terminate()
        driver.wait(PATIENCE_S)


def _is_driver(process: psutil.Process, folder: Path) -> bool:
    """Whether a process was started in a folder, by a process that has ended."""
    with contextlib.suppress(psutil.Error):
        return "mm2.cli.connect_mirror_maker" in process.cmdline() and process.cwd() == str(folder)
    return False


def test_the_legacy_tool_starts_as_shown(scene: Scene, tmp_path: Path) -> None:
    (line,) = _shown(_LEGACY)
    group = "group.id = legacy\nauto.offset.reset = earliest\nspark.master = local[4]\n"
    source = f"bootstrap.servers = {scene.source.bootstrap}\n{group}"
    (tmp_path / "source.properties").write_text(source)
    (tmp_path / "target.properties").write_text(f"bootstrap.servers = {scene.target.bootstrap}\n")
    with _started(scene, line, tmp_path) as (output, process):
        consume(scene.target.bootstrap, "orders", 1)
        process.terminate()
        assert process.wait(PATIENCE_S) == 0, output.read_text()
    # Who was asked to stop while it joined stays a member until its session ends.
    admin = AdminClient({"bootstrap.servers": scene.source.bootstrap})
    described = eventually(
        lambda: admin.describe_consumer_groups(["legacy"])["legacy"].result(30),
        until=lambda group: group.state in {ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD},
    )
    assert not described.members


@pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java on the path")
@pytest.mark.parametrize("line", [*_shown(*_TOOLS), *_shown(_COMPLETION)])
def test_tools_of_kafka_and_the_shell_take_what_is_shown(scene: Scene, line: str) -> None:
    ended = scene.run("tools", line)
    assert ended.returncode == 0, ended.stdout + ended.stderr
