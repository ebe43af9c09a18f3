"""Everything that the README and the tutorial show is run here; links lead to files."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mm2.demo.processes import QUICK_START
from tests.harness.bench.measurements import JAVA, OURS, load
from tests.harness.demo_process import demo_run
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.layout import ROOT
from tests.support.mirror import QUICK, Mirror
from tests.support.records import Sample, consume, create_topic, produce

README = ROOT / "README.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
BIN = Path(sys.executable).parent

DEMO = "./scripts/demo"
CLUSTERS = ".venv/bin/mm2 demo --clusters-only"
DEMO_ONCE = "./scripts/demo --once"
BENCH = "./scripts/bench all --json bench.json"
VALIDATE = ".venv/bin/mm2 config validate mm2.properties"
MIRROR = ".venv/bin/connect-mirror-maker mm2.properties"
_CLUSTERS_STARTED_AT = 4
"""Commands of the tutorial between the demo's start and that of clusters without a mirror."""


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def _commands(page: Path) -> list[str]:
    return [line for block in _blocks(page, "sh") for line in block.splitlines() if line]


def test_the_readme_shows_no_command_that_is_not_run_here() -> None:
    assert _commands(README) == [DEMO, DEMO_ONCE, VALIDATE, MIRROR, BENCH]


def test_the_tutorial_shows_no_command_that_is_not_run_here() -> None:
    first, *shown = _commands(TUTORIAL)
    assert first == DEMO
    assert shown[_CLUSTERS_STARTED_AT] == CLUSTERS
    assert MIRROR in shown
    tools = [line for line in shown if "org.apache.kafka.tools." in line]
    ours = [line for line in shown if line.startswith(".venv/bin/mm2 ")]
    assert (len(tools), len(ours), len(shown)) == (9, 9, 19)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_properties_shown_are_valid(tmp_path: Path) -> None:
    (text,) = _blocks(README, "properties")
    (tmp_path / "mm2.properties").write_text(text)
    command = [str(BIN / "mm2"), *shlex.split(VALIDATE)[1:]]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.broker
@pytest.mark.spark
def test_the_demo_proves_both_copies_and_leaves_no_process_behind(tmp_path: Path) -> None:
    command = [*shlex.split(DEMO_ONCE), "--free-ports", "--seconds", "2"]
    with demo_run(tmp_path, command) as run:
        status = run.wait(4 * PATIENCE_S)
        text = run.text()
        assert status == 0, text
        assert "OK A->B: " in text, text
        assert "OK B->A: " in text, text
        assert "s after the start" in text
        assert run.left() == []


@pytest.mark.broker
@pytest.mark.spark
@pytest.mark.reference
@pytest.mark.timeout(420)
def test_the_benchmark_compares_both_mirrors(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    command = [
        *shlex.split(BENCH),
        "--row",
        "kilobyte-lz4",
        "--scale",
        "0.004",
        "--json",
        str(file),
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (outcome,) = load(file)
    assert all(numbers["records_s"] > 0 for numbers in outcome.numbers.values())
    assert {*outcome.numbers} == {OURS, JAVA}
    assert "mm2 : Java" in done.stdout


@pytest.mark.broker
@pytest.mark.spark
def test_the_tutorial_s_demo_works_as_written(tmp_path: Path) -> None:
    topics, create, write, read = _commands(TUTORIAL)[1 : 1 + _CLUSTERS_STARTED_AT]
    with demo_run(tmp_path, [DEMO, "--free-ports"]) as run:
        text = run.wait_for("Records arrive", timeout=4 * PATIENCE_S)
        terminal = _Terminal(tmp_path, text)
        assert {"A.orders", "A.customers", "A.shapes"} <= {*terminal.run(topics).split()}
        terminal.run(create)
        terminal.run(write)
        assert terminal.run(read).split() == ["hello", "world"]
        run.process.send_signal(signal.SIGINT)
        assert run.wait(2 * PATIENCE_S) == 0, run.text()
        assert run.left() == []


@pytest.mark.broker
@pytest.mark.spark
def test_the_tutorial_s_own_mirror_works_as_written(tmp_path: Path) -> None:
    commands = _commands(TUTORIAL)[2 + _CLUSTERS_STARTED_AT :]
    started = commands.index(MIRROR)
    prepare, use = commands[:started], commands[started + 1 :]
    with demo_run(tmp_path, [*_installed(CLUSTERS), "--free-ports"]) as run:
        text = run.wait_for("The clusters run", timeout=4 * PATIENCE_S)
        terminal = _Terminal(tmp_path, text)
        *_, examined, planned = map(terminal.run, prepare)
        assert {line.split()[0] for line in examined.splitlines()} == {"ok"}
        assert "2 records behind" in planned
        with Mirror(tmp_path, (tmp_path / "mm2.properties").read_text()) as mirror:
            _use(terminal, use)
            assert mirror.stop() == 0
            mirror.wait_gone()
        run.process.send_signal(signal.SIGINT)
        assert run.wait(2 * PATIENCE_S) == 0, run.text()
        assert run.left() == []


def _use(terminal: _Terminal, commands: list[str]) -> None:
    read, status, topics, verify, first, plan, execute, second = commands
    assert terminal.run(read).split() == ["hello", "world"]
    eventually(lambda: terminal.status_of(status) == 0)
    eventually(lambda: "100" in terminal.run(topics).splitlines()[1].split())
    assert terminal.run(verify).split()[-1] == "equal"
    assert terminal.run(first).split() == ["hello"]
    for command in (plan, execute):
        assert "readers" in terminal.run(command)
    assert terminal.run(second).split() == ["world"]


class _Terminal:
    """Runs commands in a folder, as they are shown but for the ports, and where mm2 is."""

    def __init__(self, folder: Path, demo: str) -> None:
        self._folder = folder
        self._ports = dict(re.findall(r"([AB]) on 127\.0\.0\.1:(\d+)", demo))

    def run(self, command: str) -> str:
        done = self._run(command)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def status_of(self, command: str) -> int:
        return self._run(command).returncode

    def _run(self, command: str) -> subprocess.CompletedProcess[str]:
        changes = {
            ":9092": f":{self._ports['A']}",
            ":9192": f":{self._ports['B']}",
            ".venv/bin/": f"{BIN}/",
            "build/kafka/": f"{ROOT}/build/kafka/",
        }
        for shown, here in changes.items():
            command = command.replace(shown, here)
        return subprocess.run(
            command,
            shell=True,
            cwd=self._folder,
            # Kafka's tools then start with half of the CPU.
            env={**os.environ, "JDK_JAVA_OPTIONS": " ".join(QUICK_START)},
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE_S,
            check=False,
        )


def _installed(command: str) -> list[str]:
    program, *arguments = shlex.split(command)
    return [str(BIN / Path(program).name), *arguments]


@pytest.mark.broker
@pytest.mark.spark
def test_the_properties_of_the_readme_mirror_clusters(
    cluster_a: Cluster, cluster_b: Cluster, topic_name: str, tmp_path: Path
) -> None:
    (text,) = _blocks(README, "properties")
    text = text.replace("kafka-1.example.org:9092", cluster_a.bootstrap)
    text = text.replace("kafka-2.example.org:9092", cluster_b.bootstrap)
    text = text.replace("topics = .*", f"topics = {topic_name}")
    # Three brokers are more than these clusters have.
    text += "".join(f"{key} = {value}\n" for key, value in QUICK.items() if "replication" in key)
    create_topic(cluster_a.bootstrap, topic_name)
    produce(cluster_a.bootstrap, topic_name, [Sample(value=b"hello")])
    with Mirror(tmp_path, text) as mirror:
        copied = consume(cluster_b.bootstrap, f"primary.{topic_name}", 1)
        assert [sample.value for sample in copied] == [b"hello"]
        assert mirror.stop() == 0
        mirror.wait_gone()
