"""Commands find their file by themselves, shells complete them, and help has them in sections."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click import Context
from click.testing import CliRunner

from mm2.cli.mm2 import main
from tests.support.configs import TWO_CLUSTERS_TEXT

_MM2 = Path(sys.executable).with_name("mm2")
_FLOW = "A->B.enabled = true\nB->A.emit.heartbeats.enabled = false\n"


def _exported_flows() -> set[str]:
    ran = CliRunner().invoke(main, ["export"])
    assert ran.exit_code == 0, ran.output
    return {each["name"].partition(".")[0] for each in json.loads(ran.stdout)}


def test_the_file_is_that_of_the_working_directory_or_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MM2_CONFIG", raising=False)
    (tmp_path / "mm2.properties").write_text(TWO_CLUSTERS_TEXT + _FLOW)
    assert _exported_flows() == {"A->B"}
    other = tmp_path / "other.properties"
    other.write_text(
        TWO_CLUSTERS_TEXT + "B->A.enabled = true\nA->B.emit.heartbeats.enabled=false\n"
    )
    monkeypatch.setenv("MM2_CONFIG", str(other))
    assert _exported_flows() == {"B->A"}


def test_a_file_that_is_nowhere_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MM2_CONFIG", raising=False)
    ran = CliRunner().invoke(main, ["status"])
    assert ran.exit_code == 2
    assert "mm2.properties" in ran.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete(shell: str) -> None:
    ran = CliRunner().invoke(main, ["completion", shell])
    assert ran.exit_code == 0, ran.output
    assert "_MM2_COMPLETE" in ran.stdout
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=ran.stdout, text=True, check=True)


def _completed(monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """What bash is told of the last word."""
    monkeypatch.setenv("_MM2_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join(["mm2", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    return CliRunner().invoke(main, prog_name="mm2").stdout.split()


@pytest.mark.parametrize(
    "words",
    [
        ("status", "--flow", ""),
        ("status", "other.properties", "--flow", "B"),
        ("flows", "pause", "--flow", "'A-"),
        ("verify", "--flow", "A"),
        ("sync-groups", "--flow", "A"),
    ],
)
def test_flows_of_the_file_are_completed_and_quoted(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MM2_CONFIG", raising=False)
    (tmp_path / "mm2.properties").write_text(TWO_CLUSTERS_TEXT + _FLOW)
    (tmp_path / "other.properties").write_text(
        TWO_CLUSTERS_TEXT + "B->A.enabled = true\nA->B.emit.heartbeats.enabled=false\n"
    )
    wanted = "B->A" if "other.properties" in words else "A->B"
    assert _completed(monkeypatch, *words) == [f"plain,'{wanted}'"]


def test_without_a_file_no_flow_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MM2_CONFIG", raising=False)
    assert _completed(monkeypatch, "status", "--flow", "") == []


def test_bash_types_a_flow_so_that_it_is_one_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mm2.properties").write_text(TWO_CLUSTERS_TEXT + _FLOW)
    script = CliRunner().invoke(main, ["completion", "bash"]).stdout
    typed = (
        f"{script}\nCOMP_WORDS=(mm2 status --flow A); COMP_CWORD=3; _mm2_completion {_MM2}"
        '; eval "printf %s ${COMPREPLY[*]}"'
    )
    monkeypatch.delenv("MM2_CONFIG", raising=False)
    done = subprocess.run(
        ["bash", "-c", typed], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "A->B"


def test_commands_of_verify_are_completed_beside_files(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _completed(monkeypatch, "verify", "re") == [
        "file,re",
        "plain,rebalance",
        "plain,replicas",
    ]
    assert _completed(monkeypatch, "verify", "copies", "") == ["file,"]


def test_help_has_every_command_once_in_a_section() -> None:
    lines = CliRunner().invoke(main, ["--help"]).stdout.splitlines()
    assert {"Before the start:", "While it runs:", "Consumer groups:"} <= set(lines)
    listed = [line.split()[0] for line in lines if line.startswith("  ") and line.split()]
    for name in main.list_commands(Context(main)):
        assert listed.count(name) == 1, name


def test_a_command_imports_no_other_ones_modules() -> None:
    code = (
        "import sys; from mm2.cli.mm2 import main; main(['completion', 'bash'], standalone_mode=0);"
        "print([name for name in sys.modules if name.endswith('_command')], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr.strip() == "['mm2.cli.setup.completion_command']"
