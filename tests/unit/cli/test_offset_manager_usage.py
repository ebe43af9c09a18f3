"""``mm2 offset-manager serve``: what it refuses before it connects to anything."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from mm2.cli import offset_manager_commands
from mm2.cli.mm2 import main


@pytest.fixture(autouse=True)
def _process_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_manager_commands, "StopSignals", Mock)
    monkeypatch.setattr("mm2.offset_manager.serve.raise_open_files", Mock())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "offsets.properties"


def _says(servers: str, file: Path | None = None) -> list[str]:
    where = ["--bootstrap-server", servers, "--listen", "127.0.0.1:1"]
    config = ["--config", str(file)] if file else []
    done = CliRunner().invoke(main, ["offset-manager", "serve", *where, *config])
    assert done.exit_code == 2, done.output
    return done.stderr.splitlines()


def test_what_is_wrong_with_the_flags_names_no_file(file: Path) -> None:
    file.touch()
    for line, *more in (_says("kafka"), _says("kafka", file)):
        assert line.startswith("bootstrap.servers: kafka is not host:port")
        assert not more


def test_what_is_wrong_with_the_file_names_it(file: Path) -> None:
    file.write_text("offsets.topic.nam=x\noffsets.commit.timeout.ms=0\n")
    unknown, wrong = _says("kafka:1", file)
    assert unknown.startswith(f"{file}: line 1: offsets.topic.nam is no key of an offset manager")
    assert unknown.endswith("Did you mean 'offsets.topic.name'?")
    assert wrong.startswith(f"{file}: line 2: Invalid value '0' for")


def test_a_file_that_is_not_there_is_named_once(file: Path) -> None:
    assert _says("kafka:1", file) == [f"cannot read {file}: No such file or directory"]


def test_a_file_that_cannot_be_read_is_named_with_the_line(file: Path) -> None:
    file.write_text("\noffsets.topic.name=\\u12\n")
    (line,) = _says("kafka:1", file)
    assert line.startswith(f"{file}: line 2: malformed escape")


def test_what_a_provider_says_is_not_quoted(file: Path) -> None:
    (file.parent / "secret").write_text("many-secrets", encoding="utf-8")
    file.write_text(
        "config.providers=dir\n"
        "config.providers.dir.class="
        "org.apache.kafka.common.config.provider.DirectoryConfigProvider\n"
        f"offsets.topic.num.partitions=${{dir:{file.parent}:secret}}\n"
    )
    (line,) = _says("kafka:1", file)
    expression = f"${{dir:{file.parent}:secret}}"
    assert line == (
        f"{file}: line 3: offsets.topic.num.partitions = {expression}:"
        " what this stands for is not valid"
    )


def test_a_provider_that_nobody_knows_names_the_line(file: Path) -> None:
    file.write_text("config.providers=own\nconfig.providers.own.class=com.example.Own\n")
    (line,) = _says("kafka:1", file)
    assert line.startswith(f"{file}: line 2: Invalid value 'com.example.Own' for configuration")
