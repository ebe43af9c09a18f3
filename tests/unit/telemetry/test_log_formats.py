"""What processes log, how much of it, and in which form."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
import structlog
from click.testing import CliRunner

from mm2 import __version__
from mm2.cli.mm2 import main
from mm2.errors import ConfigError
from mm2.telemetry.levels import LogLevels
from mm2.telemetry.log_settings import parse_levels
from mm2.telemetry.logs import configure_command_logs, configure_logs, configure_task_logs

log = structlog.get_logger()


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _logged(stream: io.StringIO) -> str:
    configure_logs(stream)
    log.debug("flow.assigned", partitions=1)
    log.info("flow.assigned", flow="A->B", partitions=2)
    log.warning("flow.held", flow="A->B")
    return stream.getvalue()


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MM2_LOG_LEVEL", raising=False)
    monkeypatch.delenv("MM2_LOG_FORMAT", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")


def test_a_terminal_shows_a_sentence_about_each_event() -> None:
    first, second = _logged(_Terminal()).splitlines()
    assert "Partitions were given to bundles (flow.assigned)" in first
    assert "flow=A->B partitions=2" in first
    assert "An operator has stopped the flow (flow.held)" in second
    assert "it waits until" not in second


@pytest.mark.parametrize(("variable", "is_coloured"), [("1", False), ("", True)])
def test_only_a_variable_that_is_not_empty_takes_colours_away(
    monkeypatch: pytest.MonkeyPatch, variable: str, *, is_coloured: bool
) -> None:
    monkeypatch.setenv("NO_COLOR", variable)
    assert ("\x1b[" in _logged(_Terminal())) is is_coloured


def test_an_option_of_mm2_takes_colours_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    ran = CliRunner().invoke(main, ["--no-color", "completion", "bash"])
    assert ran.exit_code == 0
    assert "\x1b[" not in _logged(_Terminal())


def test_an_event_without_a_sentence_keeps_its_name() -> None:
    stream = _Terminal()
    configure_logs(stream)
    log.info("unknown.event")
    assert "unknown.event" in stream.getvalue()


def test_a_field_that_is_called_name_is_shown() -> None:
    stream = _Terminal()
    configure_logs(stream)
    log.info("flow.assigned", name="filter")
    assert "(flow.assigned) name=filter" in " ".join(stream.getvalue().split())


def test_anything_else_than_a_terminal_gets_json() -> None:
    events = [json.loads(line) for line in _logged(io.StringIO()).splitlines()]
    assert [each["event"] for each in events] == ["flow.assigned", "flow.held"]


@pytest.mark.parametrize(
    ("format_", "stream", "is_json"),
    [("json", _Terminal(), True), ("console", io.StringIO(), False)],
)
def test_the_environment_chooses_the_format(
    monkeypatch: pytest.MonkeyPatch, format_: str, stream: io.StringIO, *, is_json: bool
) -> None:
    monkeypatch.setenv("MM2_LOG_FORMAT", format_)
    assert _logged(stream).startswith("{") is is_json


@pytest.mark.parametrize(("level", "lines"), [("debug", 3), ("INFO", 2), ("warning", 1)])
def test_the_environment_chooses_the_level(
    monkeypatch: pytest.MonkeyPatch, level: str, lines: int
) -> None:
    monkeypatch.setenv("MM2_LOG_LEVEL", level)
    assert len(_logged(io.StringIO()).splitlines()) == lines


@pytest.mark.parametrize(
    ("levels", "seen"),
    [
        ("source=debug", ["source.debugged", "source.said", "flow.said"]),
        ("Warning, source=DEBUG", ["source.debugged", "source.said"]),
        ("source=error,flow=info,error", ["flow.said"]),
    ],
)
def test_the_environment_chooses_levels_of_single_nouns(
    monkeypatch: pytest.MonkeyPatch, levels: str, seen: list[str]
) -> None:
    monkeypatch.setenv("MM2_LOG_LEVEL", levels)
    stream = io.StringIO()
    configure_logs(stream)
    log.debug("source.debugged")
    log.debug("flow.debugged")
    log.info("source.said")
    log.info("flow.said")
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == seen


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (None, ["flow.warned"]),
        ("source=debug", ["source.debugged", "flow.warned"]),
        ("error,source=debug", ["source.debugged"]),
    ],
)
def test_commands_log_from_the_given_levels_on(
    capsys: pytest.CaptureFixture[str], given: str | None, seen: list[str]
) -> None:
    configure_command_logs(parse_levels(given, "warning") if given else None)
    log.debug("source.debugged")
    log.debug("flow.debugged")
    log.warning("flow.warned")
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if not any(name in line for name in seen)] == []
    assert len(lines) == len(seen)


def test_tasks_log_from_the_level_of_the_environment_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MM2_LOG_LEVEL", "warning")
    configure_task_logs()
    log.info("source.started", partitions=2)
    log.warning("source.throttled", partition=2)
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["event"] == "source.throttled"


def test_levels_over_rest_begin_with_that_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MM2_LOG_LEVEL", "warning,source=debug")
    levels = LogLevels()
    found = {logger: level.name for logger, level in levels.all().items()}
    assert found == {"root": "WARN", "source": "DEBUG"}


_PROGRAMS = ("connect_mirror_maker", "connect_distributed", "connect_standalone")


@pytest.mark.parametrize("program", [*_PROGRAMS, "kafka_mirror_maker"])
def test_programs_say_their_version(program: str) -> None:
    done = _run(program, "--version")
    assert (done.returncode, done.stdout) == (0, f"mm2 {__version__}\n")


@pytest.mark.parametrize("program", _PROGRAMS)
def test_programs_refuse_other_levels(program: str) -> None:
    for levels in ("loud", "source=loud"):
        done = _run(program, "--log-level", levels, __file__)
        assert done.returncode != 0
        assert f"{levels}: the level must be one of debug, info, warning" in done.stderr


def test_a_noun_without_events_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no event begins with 'sauce'; there are .*source"):
        parse_levels("warning,sauce=debug")


def test_mm2_refuses_other_levels() -> None:
    done = CliRunner().invoke(main, ["--log-level", "source=loud", "config"])
    assert done.exit_code == 2
    assert "source=loud: the level must be one of debug" in done.stderr


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("MM2_LOG_LEVEL", "trace", "the level must be one of debug, info, warning, error"),
        ("MM2_LOG_LEVEL", "sauce=debug", "no event begins with 'sauce'; there are"),
        ("MM2_LOG_FORMAT", "xml", "it must be one of auto, console, json"),
    ],
)
def test_mm2_refuses_wrong_variables_before_any_task_runs(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, told: str
) -> None:
    monkeypatch.setenv(variable, value)
    done = CliRunner().invoke(main, ["verify", "no.properties"])
    assert done.exit_code == 2
    assert f"{variable}={value}: {told}" in done.stderr


def test_an_option_counts_more_than_a_wrong_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MM2_LOG_LEVEL", "trace")
    done = CliRunner().invoke(main, ["--log-level", "info", "config", "--help"])
    assert done.exit_code == 0


_LEGACY_FLAGS = ("--consumer.config", "PATH", "--producer.config", "PATH", "--include", "a")


def test_the_legacy_tool_refuses_other_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "clients.properties"
    file.write_text("bootstrap.servers = localhost:9\ngroup.id = g\n")
    flags = [str(file) if word == "PATH" else word for word in _LEGACY_FLAGS]
    done = _run("kafka_mirror_maker", *flags, "--log-level", "source=loud")
    assert done.returncode == 1
    assert "kafka-mirror-maker: --log-level: source=loud: the level must be" in done.stderr
    monkeypatch.setenv("MM2_LOG_LEVEL", "loud")
    done = _run("kafka_mirror_maker", *flags)
    assert done.returncode == 1
    assert "kafka-mirror-maker: MM2_LOG_LEVEL=loud: the level must be" in done.stderr


def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MM2_LOG_FORMAT", "xml")
    done = _run("connect_mirror_maker", __file__)
    assert done.returncode == 255
    assert "MM2_LOG_FORMAT=xml: it must be one of auto, console, json" in done.stderr


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"mm2.cli.{program}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
