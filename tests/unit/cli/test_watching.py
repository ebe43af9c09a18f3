"""What commands show again and again, and what they end with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mm2.cli.watching import Shown, show_and_exit
from mm2.errors import Unavailable

_AWAY = Unavailable("B", "no answer")


def _ended(looks: Iterator[Shown | BaseException], every_s: float | None) -> int:
    """The status that a command ends with."""

    async def look() -> Shown:
        found = next(looks)
        if isinstance(found, BaseException):
            raise found
        return found

    with pytest.raises(SystemExit) as ended:
        show_and_exit(["topic", "age_ms"], look, "tsv", every_s)
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_one_look_shows_rows_for_programs_and_sentences_for_people(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen = Shown([{"topic": "t", "age_ms": 3}], ["g: is left out"], 1)
    assert _ended(iter([seen]), None) == 1
    assert capsys.readouterr() == ("topic\tage_ms\nt\t3\n", "g: is left out\n")


def test_a_cluster_that_is_away_leaves_standard_output_empty(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _ended(iter([_AWAY]), None) == 3
    assert capsys.readouterr() == ("", "cluster B: no answer\n")


def test_a_watch_outlasts_a_cluster_that_is_away_and_ends_as_its_last_look(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fine = Shown([{"topic": "t", "age_ms": 3}])
    worst = Shown([], ["g: nothing is known"], 1)
    looks: list[Shown | BaseException] = [fine, _AWAY, fine, worst, KeyboardInterrupt()]
    assert _ended(iter(looks), 0.001) == 1
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [*["topic\tage_ms", "t\t3"] * 2, "topic\tage_ms"]
    assert shown.err.splitlines() == ["cluster B: no answer", "g: nothing is known", ""]
