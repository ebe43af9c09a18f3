"""Progress is for people at a terminal."""

from __future__ import annotations

import pytest

from mm2.cli.progress import progress_bar, waiting


def _work() -> None:
    with progress_bar("compares A->B", 200) as advance:
        advance(60)
        advance(90)
    with waiting("looks at topics"):
        pass


def test_nothing_is_said_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    _work()
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_what_is_done_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    _work()
    said = capsys.readouterr()
    assert said.out == ""
    assert "compares A->B" in said.err
    assert "75%" in said.err
    assert "looks at topics" in said.err
