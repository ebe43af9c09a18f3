"""``mm2 heartbeats`` and ``mm2 hops``: what they refuse without asking any cluster."""

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
    ("words", "messages"),
    [
        ("heartbeats FILE --flow A->C", ["--flow A->C: there is no such flow; there are A->B"]),
        (
            "heartbeats FILE --flow x --max-age soon",
            ["--flow x: there is no such flow", "--max-age: 'soon' is no duration like"],
        ),
        ("hops FILE --cluster C --cluster D", ["--cluster C, D: there are A, B."]),
        ("heartbeats none", ["none"]),
    ],
)
def test_wrong_usage_has_status_2_and_is_told_at_once(
    tmp_path: Path, words: str, messages: list[str]
) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(_FILE)
    result = CliRunner().invoke(main, [word.replace("FILE", str(file)) for word in words.split()])
    assert result.exit_code == 2
    assert [each for each in messages if each not in result.stderr] == []
