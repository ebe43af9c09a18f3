"""What commands do with a file of which one flow cannot run: the others are looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mm2.cli.flows import flows_commands
from mm2.cli.mm2 import main
from mm2.config.flow_config import FlowConfig
from mm2.failover.flow_switch import FlowStatus
from mm2.protocol.desired_state import DesiredState

_FILE = """\
clusters = A, B, C
A.bootstrap.servers = localhost:1
B.bootstrap.servers = localhost:1
C.bootstrap.servers = localhost:1
emit.heartbeats.enabled = false
A->B.enabled = true
A->B.emit.heartbeats.enabled = true
A->C.enabled = true
A->C.tasks.max = many
"""
_WRONG = "flow A->C cannot run: line 9: Invalid value 'many'"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Its flow A->B is right, and A->C is not."""
    found = tmp_path / "mm2.properties"
    found.write_text(_FILE)
    return found


@pytest.fixture
def _answering(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has targets answer."""

    async def status(config: FlowConfig) -> FlowStatus:
        del config
        return FlowStatus(desired=DesiredState(), running=None, epoch=1, owner="n", tasks=2)

    monkeypatch.setattr(flows_commands, "_status", status)


def _run(file: Path, words: str) -> Result:
    arguments = [str(file) if each == "FILE" else each for each in words.split()]
    return CliRunner().invoke(main, arguments)


@pytest.mark.usefixtures("_answering")
def test_the_right_flows_are_shown_and_the_wrong_one_is_told(file: Path) -> None:
    result = _run(file, "flows show FILE --format tsv")
    assert [line.split("\t")[0] for line in result.stdout.splitlines()[1:]] == ["A->B"]
    assert _WRONG in result.stderr
    assert result.exit_code == 1


@pytest.mark.usefixtures("_answering")
def test_a_right_flow_that_is_named_is_shown_alone(file: Path) -> None:
    result = _run(file, "flows show FILE --flow A->B")
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize("command", ["flows show", "heartbeats", "flows stop", "offsets list"])
def test_a_wrong_flow_that_is_named_is_wrong_usage(file: Path, command: str) -> None:
    result = _run(file, f"{command} FILE --flow A->C")
    assert result.exit_code == 2
    assert "A->C.tasks.max" in result.stderr


@pytest.mark.parametrize("command", ["flows stop", "offsets list", "groups"])
def test_a_command_about_one_flow_does_not_choose_the_right_one(file: Path, command: str) -> None:
    result = _run(file, f"{command} FILE")
    assert result.exit_code == 2
    assert "Say which flow with --flow; there are A->B, A->C." in result.stderr


def test_the_only_flow_that_is_on_is_meant_though_another_is_wrong(file: Path) -> None:
    file.write_text(_FILE.replace("A->C.enabled = true", "A->C.emit.heartbeats.enabled = true"))
    result = _run(file, "offsets list FILE")
    assert result.exit_code == 3
    assert "localhost:1 refuses connections" in result.stderr


def test_heartbeats_of_the_others_are_asked_for(file: Path) -> None:
    result = _run(file, "heartbeats FILE")
    assert result.exit_code == 3
    assert "cluster B" in result.stderr
    assert _WRONG in result.stderr
    assert "cluster C" not in result.stderr


def test_hops_leaves_out_a_cluster_that_the_file_is_wrong_about(file: Path) -> None:
    file.write_text(_FILE.replace("C.bootstrap.servers = localhost:1\n", ""))
    result = _run(file, "hops FILE")
    assert result.exit_code == 3
    assert "cluster C is left out" in result.stderr
    assert "cluster A: no answer" in result.stderr
    assert _run(file, "hops FILE --cluster C").exit_code == 2


def test_what_is_altered_is_asked_of_the_others(file: Path) -> None:
    result = _run(file, "config explain FILE --live")
    assert result.exit_code == 3
    assert "A->B worker" in result.stdout
    assert _WRONG in result.stderr
    assert "what is altered there is not known" in result.stderr


def test_validate_stays_strict(file: Path) -> None:
    result = _run(file, "config validate FILE")
    assert result.exit_code == 2
    assert "A->C.tasks.max" in result.stdout


@pytest.mark.parametrize("command", ["flows show", "heartbeats"])
def test_a_file_without_a_right_flow_is_wrong_usage(file: Path, command: str) -> None:
    file.write_text(_FILE + "A->B.tasks.max = none\n")
    assert _run(file, f"{command} FILE").exit_code == 2
