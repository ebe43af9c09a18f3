"""Where ``mm2 demo`` has Kafka from."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from mm2.demo.kafka_jars import fetch_jars, find_jars
from mm2.demo.processes import KafkaMissing

_MAVEN = """#!/bin/sh
for word; do
    case $word in
    -DoutputDirectory=*) libs=${word#*=} ;;
    -f) found=yes ;;
    esac
done
echo "no such artifact"
[ -z "$REFUSES" ] || exit 1
touch "$libs/b.jar" "$libs/a.jar"
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a user whose programs are those of a folder ``bin``."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def _maven(folder: Path) -> None:
    file = folder.parent / "bin" / "mvn"
    file.write_text(_MAVEN)
    file.chmod(0o755)


def test_a_kafka_that_is_named_is_taken(tmp_path: Path) -> None:
    libs = tmp_path / "libs"
    libs.mkdir()
    with pytest.raises(KafkaMissing, match="is no Kafka"):
        find_jars(tmp_path)
    for name in ("b.jar", "a.jar"):
        (libs / name).touch()
    assert [each.name for each in find_jars(tmp_path)] == ["a.jar", "b.jar"]


def test_maven_fetches_it_once_into_the_cache(cache: Path) -> None:
    _maven(cache)
    assert [each.name for each in fetch_jars()] == ["a.jar", "b.jar"]
    (home,) = (cache / "mm2").iterdir()
    (home / "old").touch()
    fetch_jars()
    assert [each.name for each in home.iterdir()] == ["libs"]


def test_what_maven_refuses_is_said_and_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _maven(cache)
    monkeypatch.setenv("REFUSES", "1")
    with pytest.raises(KafkaMissing, match="no such artifact"):
        fetch_jars()
    assert list((cache / "mm2").iterdir()) == []


def test_without_maven_it_says_what_else_will_do(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(cache.parent / "bin"))
    with pytest.raises(KafkaMissing, match="name its folder in --kafka-home"):
        fetch_jars()


def test_a_folder_that_is_no_kafka_ends_the_demo_before_anything_starts(tmp_path: Path) -> None:
    words = ["demo", "--once", "--free-ports", "--kafka-home", str(tmp_path)]
    result = CliRunner().invoke(main, [*words, "--log", str(tmp_path / "log")])
    assert result.exit_code == 1
    assert "is no Kafka: it has no libs/*.jar." in result.stdout
