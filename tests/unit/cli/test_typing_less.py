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
