"""``mm2 sync-groups`` says what is wrong with how it was called."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from tests.support.configs import TWO_CLUSTERS_TEXT


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--flow", "A->C", "--back", "B"), "A->C is no flow: write A->B, of A, B.\nB is no flow"),
        (("--group", "("), "--group: "),
        (("--interval", "0"), "--interval"),
    ],
)
def test_wrong_usage_is_explained(words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(TWO_CLUSTERS_TEXT)
    result = CliRunner().invoke(main, ["sync-groups", str(file), *words])
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_wrong_format_of_the_log_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MM2_LOG_FORMAT", "xml")
    file = tmp_path / "mm2.properties"
    file.write_text(TWO_CLUSTERS_TEXT)
    result = CliRunner().invoke(main, ["sync-groups", str(file), "--execute"])
    assert result.exit_code == 2
    assert "MM2_LOG_FORMAT=xml: it must be one of auto, console, json" in result.stderr
