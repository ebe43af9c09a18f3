"""Everything that the README and the tutorial show is run here; links lead to files."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.bench.outcome import JAVA, OURS, load
from tests.harness.demo.run import demo_run
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S
from tests.support.layout import ROOT
from tests.support.mirror import QUICK, Mirror
from tests.support.records import Sample, consume, create_topic, produce

README = ROOT / "README.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
BIN = Path(sys.executable).parent

DEMO = "./scripts/demo"
DEMO_ONCE = "./scripts/demo --once"
BENCH = "./scripts/bench all --json bench.json"
VALIDATE = ".venv/bin/mm2 config validate mm2.properties"
MIRROR = ".venv/bin/connect-mirror-maker mm2.properties"


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def _commands(page: Path) -> list[str]:
    return [line for block in _blocks(page, "sh") for line in block.splitlines() if line]


def test_the_readme_shows_no_command_that_is_not_run_here() -> None:
    assert _commands(README) == [DEMO, DEMO_ONCE, VALIDATE, MIRROR, BENCH]


def test_the_tutorial_shows_no_command_that_is_not_run_here() -> None:
    first, *tools, validate, mirror = _commands(TUTORIAL)
    assert [first, validate, mirror] == [DEMO, VALIDATE, MIRROR]
    assert len([tool for tool in tools if "org.apache.kafka.tools." in tool]) == len(tools) == 4


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", [README, TUTORIAL], ids=lambda page: page.name)
def test_the_properties_shown_are_valid(page: Path, tmp_path: Path) -> None:
    (text,) = _blocks(page, "properties")
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
def test_the_tutorial_works_as_written(tmp_path: Path) -> None:
    _, topics, create, write, read, *_ = _commands(TUTORIAL)
    with demo_run(tmp_path, [DEMO, "--free-ports"]) as run:
        text = run.wait_for("Records arrive", timeout=4 * PATIENCE_S)
        ports = dict(re.findall(r"([AB]) on 127\.0\.0\.1:(\d+)", text))
        assert {"A.orders", "A.customers", "A.shapes"} <= {*_tool(topics, ports).split()}
        _tool(create, ports)
        _tool(write, ports)
        assert _tool(read, ports).split() == ["hello", "world"]
        run.process.send_signal(signal.SIGINT)
        assert run.wait(60) == 0, run.text()
        assert run.left() == []


def _tool(command: str, ports: dict[str, str]) -> str:
    here = command.replace(":9092", f":{ports['A']}").replace(":9192", f":{ports['B']}")
    done = subprocess.run(
        here,
        shell=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


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
