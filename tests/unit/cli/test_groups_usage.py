"""``mm2 groups``, ``checkpoints`` and ``translate``: what they refuse without any cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from tests.support.configs import TWO_CLUSTERS_TEXT

_FILE = f"""\
{TWO_CLUSTERS_TEXT}A->B.enabled = true
B->A.enabled = true
"""
_ONE = "Give either --group, as often as needed, or --pattern, or --topic with --offset."
_PAIR = "--topic and --offset belong together."


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ("groups", ["Say which flow with --flow; there are A->B, B->A."]),
        (
            "groups --group g --pattern (",
            ["Give --group or --pattern, not both.", "--pattern: ", "Say which flow"],
        ),
        ("checkpoints --pattern *", ["--pattern: "]),
        ("translate", [_ONE]),
        ("translate --group g --topic t:0", [_ONE, _PAIR]),
        ("translate --group g --offset 1", [_PAIR]),
        ("translate --group g --pattern g", ["Give --group or --pattern, not both."]),
        ("translate --pattern ( --topic t:0 --offset 1", ["--pattern: ", _ONE]),
        ("translate --topic t", [_PAIR, "--topic t: write TOPIC:0"]),
        ("translate --topic t:x --offset 1", ["--topic t:x: write TOPIC:0"]),
        ("translate --topic :0 --offset 1", ["--topic :0: write TOPIC:0"]),
        ("translate --topic t:0 --offset -1", ["-1 is not in the range"]),
    ],
)
def test_wrong_usage_has_status_2_and_is_told_at_once(
    tmp_path: Path, words: str, messages: list[str]
) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(_FILE)
    command, *rest = words.split()
    result = CliRunner().invoke(main, [command, str(file), *rest])
    assert result.exit_code == 2
    assert [each for each in messages if each not in result.stderr] == []
