"""``--command-config``: a file that cannot be used is wrong usage, and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main

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


def _says(words: str, file: Path) -> str:
    given = [word.replace("FILE", str(file)) for word in words.split()]
    done = CliRunner().invoke(main, [*given, "--bootstrap-server", "a:1"])
    assert done.exit_code == 2, done.output
    return done.stderr.partition("Error: ")[2].strip()
