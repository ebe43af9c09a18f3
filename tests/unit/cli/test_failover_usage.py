"""``mm2 failover``, ``failback`` and ``flows``: what they refuse without asking any cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from tests.support.configs import TWO_CLUSTERS_TEXT
from tests.support.runbooks import PAGES, commands, headings

_FILE = f"""\
{TWO_CLUSTERS_TEXT}A->B.enabled = true
"""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("failover plan FILE", "Give either --group, as often as needed, or --all-groups."),
        ("failover plan FILE --group g --all-groups", "Give either --group"),
        ("failover execute FILE --group g --unplanned --drain", "--drain needs the source"),
        ("failover plan FILE --group g --lost", "--lost goes with --unplanned only"),
        ("failback plan FILE", "Give either --group"),
        ("failback execute FILE --group g --unplanned", "No such option"),
        ("failover plan FILE --group g --flow B->C", "Say which flow with --flow"),
        ("flows stop FILE --flow B->C", "Say which flow with --flow"),
        ("failover execute FILE --group g --timeout -1", "is not in the range"),
        ("failover plan none.properties --group g", "none.properties"),
    ],
)
def test_wrong_usage_has_status_2(tmp_path: Path, words: str, message: str) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(_FILE)
    arguments = [word.replace("FILE", str(file)) for word in words.split()]
    result = CliRunner().invoke(main, arguments)
    assert message in " ".join(result.stderr.split())
    assert result.exit_code == 2


def test_a_mistake_in_the_opposite_flow_has_status_2(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(f"{_FILE}B->A.tasks.max = many\n")
    words = ["failover", "plan", str(file), "--flow", "A->B", "--group", "g"]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, "tasks.max" in result.stderr) == (2, True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_runbook_exists(page: Path, tmp_path: Path) -> None:
    """Which of them work is tried with clusters."""
    file = tmp_path / "mm2.properties"
    file.write_text(_FILE)
    for heading in headings(page):
        for words in commands(page, heading):
            assert words[0] == "mm2"
            result = CliRunner().invoke(main, [*words[1:], "--help"])
            assert result.exit_code == 0, words
