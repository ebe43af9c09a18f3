"""``--command-config``: a file that cannot be used is wrong usage, and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from mm2.cli.options import client_properties
from mm2.config.text.expressions import hide

_COMMANDS = (
    "verify replicas --command-config FILE",
    "verify rebalance --group g --command-config FILE",
    "offset-manager check --group g --command-config FILE",
    "offset-manager check --group g --offset-manager b:1 --offset-manager-config FILE",
)


@pytest.mark.parametrize("words", _COMMANDS)
def test_a_missing_file_is_named(tmp_path: Path, words: str) -> None:
    file = tmp_path / "client.properties"
    assert _says(words, file) == f"cannot read {file}: No such file or directory"


@pytest.mark.parametrize("words", _COMMANDS)
def test_a_malformed_file_is_named_with_the_line(tmp_path: Path, words: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SSL\nssl.key.password=\\u12\n")
    assert _says(words, file).startswith(f"{file}: line 2: malformed escape")


@pytest.mark.parametrize("words", _COMMANDS)
def test_a_provider_that_fails_is_named_with_the_line(tmp_path: Path, words: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "config.providers=env\n"
        "config.providers.env.class="
        "org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
        "ssl.key.password=${env:a:B}\n"
    )
    assert _says(words, file).startswith(f"{file}: line 3: ssl.key.password: Path is not supported")


def test_expressions_are_resolved_and_what_they_stand_for_is_hidden(tmp_path: Path) -> None:
    """As Java's clients do; of the files, only these hold the secret."""
    secrets, file = tmp_path / "secrets.properties", tmp_path / "client.properties"
    secrets.write_text("password=kept-by-nobody\n")
    file.write_text(
        "config.providers=file\n"
        "config.providers.file.class="
        "org.apache.kafka.common.config.provider.FileConfigProvider\n"
        f"ssl.key.password=${{file:{secrets}:password}}\n"
        "client.id=${nobody:answers}\n"
    )
    found = client_properties("a:1", file)
    assert found["ssl.key.password"] == "kept-by-nobody"
    assert found["client.id"] == "${nobody:answers}"
    assert hide("it is kept-by-nobody") == f"it is ${{file:{secrets}:password}}"


def _says(words: str, file: Path) -> str:
    given = [word.replace("FILE", str(file)) for word in words.split()]
    done = CliRunner().invoke(main, [*given, "--bootstrap-server", "a:1"])
    assert done.exit_code == 2, done.output
    return done.stderr.partition("Error: ")[2].strip()
