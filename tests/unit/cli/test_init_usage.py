"""``mm2 init`` without clusters: what it writes is valid, and has no secrets."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mm2.cli.mm2 import main
from mm2.config.text.properties import load
from mm2.driver.file_validation import validate


def _init(file: Path, *words: str) -> Result:
    ends = ["--source", "A=a:9092", "--target", "B=b:9092,c:9092", "--offline"]
    return CliRunner().invoke(main, ["init", str(file), *ends, *words])


def test_what_is_written_validates(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    ran = _init(file, "--topics", r"orders\.v1, p.*", "--both-ways", "--tasks", "3")
    assert ran.exit_code == 0, ran.output
    assert validate(load(file)) == []
    values = load(file).values
    assert values["topics"] == r"orders\.v1, p.*"
    assert values["B->A.enabled"] == "true"
    assert values["B.bootstrap.servers"] == "b:9092,c:9092"
    assert values["replication.factor"] == "3"


def test_secrets_become_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "client.properties"
    jaas = (
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="u"'
        ' password="hunter2-x";'
    )
    config.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas}\n"
    )
    file = tmp_path / "mm2.properties"
    ran = _init(file, "--source-config", str(config))
    assert ran.exit_code == 0, ran.output
    assert "hunter2" not in file.read_text() + ran.output
    assert "MM2_A_SASL_JAAS_CONFIG" in ran.stderr
    monkeypatch.setenv("MM2_A_SASL_JAAS_CONFIG", jaas)
    assert validate(load(file)) == []


def test_each_secret_has_a_variable_of_its_own(tmp_path: Path) -> None:
    """Names of variables leave out in what these aliases differ."""
    keys = []
    words = ["init", str(tmp_path / "mm2.properties"), "--offline"]
    for side, alias in (("source", "A-1"), ("target", "A.1")):
        config = tmp_path / f"{side}.properties"
        config.write_text(f"ssl.key.password={side}-pass\n")
        keys.append(f"{alias}.ssl.key.password")
        words += [f"--{side}", f"{alias}={side}:9092", f"--{side}-config", str(config)]
    ran = CliRunner().invoke(main, words)
    written = load(tmp_path / "mm2.properties").values
    assert [written[each] for each in keys] == [
        "${env:MM2_A_1_SSL_KEY_PASSWORD}",
        "${env:MM2_A_1_SSL_KEY_PASSWORD_2}",
    ]
    assert "MM2_A_1_SSL_KEY_PASSWORD, MM2_A_1_SSL_KEY_PASSWORD_2" in ran.stderr


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text("mine\n")
    ran = _init(file)
    assert ran.exit_code == 2
    assert file.read_text() == "mine\n"
    assert _init(file, "--force").exit_code == 0


def test_what_is_wrong_in_what_was_written_is_told(tmp_path: Path) -> None:
    ran = _init(tmp_path / "mm2.properties", "--topics", "orders[")
    assert ran.exit_code == 1
    assert "orders[" in ran.stderr


def test_what_is_not_given_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    ran = CliRunner().invoke(main, ["init", str(file), "--offline"], input="A=a:1\nB=b:1\n")
    assert ran.exit_code == 0, ran.output
    assert load(file).values["clusters"] == "A, B"
