"""When Spark's JVM is started directly, and with which archive of classes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flows.spark.archive import prune
from flows.spark.context import with_redaction
from flows.spark.installed import archive_of, java_launcher
from flows.spark.jvm import DEFAULTS, direct_command, sparks_jars
from mm2.config.text.expressions import RESOLVED
from mm2.core.java_regex import JavaPattern


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)


def test_the_users_memory_and_options_are_the_jvms() -> None:
    settings = {"spark.driver.memory": "2g", "spark.driver.extraJavaOptions": "-Da='b c' -Dd"}
    command = direct_command({**DEFAULTS, **settings})
    assert command is not None
    assert {"-Xmx2g", "-Da=b c", "-Dd"} <= {*command}


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.master": "spark://host:7077"},
        {"spark.master": "local-cluster[2,1,512]"},
        {"spark.jars.packages": "a:b:1"},
        {"spark.driver.extraClassPath": "/x.jar"},
    ],
)
def test_what_only_sparks_script_knows_is_left_to_it(settings: dict[str, str]) -> None:
    assert direct_command({**DEFAULTS, **settings}) is None


def test_a_spark_of_the_users_own_is_left_to_its_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
    assert direct_command(dict(DEFAULTS)) is None


def test_no_library_is_loaded_that_only_slows_the_first_session_of_sql_down() -> None:
    names = [jar.name for jar in sparks_jars()]
    assert any(name.startswith("spark-sql_") for name in names)
    assert not any(name.startswith("spark-mllib_") for name in names)


def test_an_archive_is_used_if_there_is_one() -> None:
    java = java_launcher()
    assert java is not None
    archive = archive_of(java, sparks_jars())
    flag = f"-XX:SharedArchiveFile={archive}"
    assert flag not in (direct_command(dict(DEFAULTS)) or [])
    archive.parent.mkdir(parents=True)
    archive.touch()
    assert flag in (direct_command(dict(DEFAULTS)) or [])


def test_only_archives_used_last_are_kept(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"spark-{number}.jsa").touch()
        os.utime(tmp_path / f"spark-{number}.jsa", (number, number))
    (tmp_path / "kafka.jsa").touch()
    prune(tmp_path)
    kept = sorted(file.name for file in tmp_path.iterdir())
    assert kept == ["kafka.jsa", *(f"spark-{number}.jsa" for number in range(3, 6))]


def test_an_archive_in_use_is_marked_as_used() -> None:
    java = java_launcher()
    assert java is not None
    archive = archive_of(java, sparks_jars())
    archive.parent.mkdir(parents=True)
    archive.touch()
    os.utime(archive, (1, 1))
    direct_command(dict(DEFAULTS))
    assert archive.stat().st_mtime > 1


def test_other_jars_have_an_archive_of_their_own(tmp_path: Path) -> None:
    java, jar = tmp_path / "java", tmp_path / "a.jar"
    for file in (java, jar):
        file.write_text("1")
    before = archive_of(java, [jar])
    assert archive_of(java, [jar]) == before
    jar.write_text("22")
    assert archive_of(java, [jar]) != before


def test_files_of_an_image_that_was_pulled_have_the_archive_that_was_built(tmp_path: Path) -> None:
    """Layers of images keep whole seconds."""
    java, jar = tmp_path / "java", tmp_path / "a.jar"
    for file in (java, jar):
        file.touch()
        os.utime(file, ns=(0, 5_700_000_000))
    built = archive_of(java, [jar])
    for file in (java, jar):
        os.utime(file, ns=(0, 5_000_000_000))
    assert archive_of(java, [jar]) == built
    os.utime(jar, ns=(0, 6_000_000_000))
    assert archive_of(java, [jar]) != built


def test_spark_hides_settings_that_providers_have_read() -> None:
    RESOLVED.remember("geheim", "${env:X}")
    settings = {"spark.app.name": "a", "spark.my.key": "geheim", "spark.other": "plain"}
    pattern = JavaPattern(with_redaction(settings)["spark.redaction.regex"])
    assert [key for key in settings if pattern.find(key)] == ["spark.my.key"]
    assert pattern.find("spark.some.password")
    assert "geheim" not in pattern.text
    assert "spark.redaction.regex" not in with_redaction({"spark.other": "plain"})
