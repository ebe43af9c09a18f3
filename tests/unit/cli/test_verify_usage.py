"""``mm2 verify``: what it refuses without asking any cluster."""

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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("FILE", "Say which flow with --flow; there are A->B, B->A."),
        ("FILE --flow A->B --seed 3", "--seed is for --sample"),
        ("FILE --flow A->B --topics (", "--topics"),
        ("FILE --flow A->B --format xml", "'xml' is not one of 'table', 'json'"),
        ("none", "none"),
        ("copies FILE", "Say which flow with --flow; there are A->B, B->A."),
        ("replicas --topics t", "Missing option '--bootstrap-server'"),
        ("replicas --bootstrap-server a:1 --topics (", "--topics ("),
        ("rebalance --bootstrap-server a:1", "Missing option '--group'"),
        ("rebalance --group g", "--bootstrap-server or --zookeeper."),
        ("rebalance --group g --bootstrap-server a:1 --zookeeper z:1", "or --zookeeper."),
        (
            "rebalance --group g --zookeeper z:1 --command-config f",
            "--command-config belongs to --bootstrap-server.",
        ),
    ],
)
def test_wrong_usage_has_status_2(tmp_path: Path, words: str, message: str) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(_FILE)
    given = [word.replace("FILE", str(file)) for word in words.split()]
    result = CliRunner().invoke(main, ["verify", *given])
    assert result.exit_code == 2
    assert message in result.stderr
