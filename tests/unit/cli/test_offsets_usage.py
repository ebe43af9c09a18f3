"""``mm2 offsets``: what it refuses without asking any cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from tests.support.configs import TWO_CLUSTERS_TEXT

_FILE = f"""\
{TWO_CLUSTERS_TEXT}A->B.enabled = true
"""


@pytest.mark.parametrize(
    ("command", "words", "message"),
    [
        ("alter", "--topic t", "Give --file, or one of --to-... and --shift-by."),
        ("alter", "--topic t --to-latest --to-earliest", "Give --file, or one of"),
        ("alter", "--to-latest", "Give either --topic"),
        ("alter", "--to-offset 0", "Give either --topic"),
        ("alter", "--topic t --all-topics --to-latest", "Give either --topic"),
        ("alter", "--topic t:x --to-latest", "--topic t:x: write TOPIC or TOPIC:0,1"),
        ("alter", "--topic t: --to-latest", "write TOPIC or TOPIC:0,1"),
        ("alter", "--topic t --to-datetime soon", "'soon' is no time like"),
        ("alter", "--file FILE --to-latest", "--file says everything by itself"),
        ("alter", "--file FILE", "is not JSON"),
        ("alter", "--file none.json", "does not exist"),
        ("reset", "", "Give either --topic"),
        ("list", "--flow A->C", "Say which flow with --flow; there are A->B, B->A."),
    ],
)
def test_wrong_usage_has_status_2(tmp_path: Path, command: str, words: str, message: str) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(_FILE)
    arguments = [word.replace("FILE", str(file)) for word in words.split()]
    result = CliRunner().invoke(main, ["offsets", command, str(file), *arguments])
    assert message in result.stderr.replace("\n", " ")
    assert result.exit_code == 2


def test_a_file_with_two_flows_needs_one_named(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(f"{_FILE}B->A.enabled = true\n")
    result = CliRunner().invoke(main, ["offsets", "list", str(file)])
    assert (result.exit_code, "there are A->B, B->A" in result.stderr) == (2, True)


def test_a_wrong_file_has_status_2(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(f"{_FILE}A->B.tasks.max = many\n")
    result = CliRunner().invoke(main, ["offsets", "list", str(file)])
    assert result.exit_code == 2
    assert "tasks.max" in result.stderr
    assert CliRunner().invoke(main, ["offsets", "list", "none"]).exit_code == 2
