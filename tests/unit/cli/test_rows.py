"""Rows for people and programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pytest

from mm2.cli.rows import FORMATS, Row, rendered, streamed

_COLUMNS = ["topic", "position"]
_ROWS: list[Row] = [{"topic": "orders", "position": 7}, {"topic": "a: b", "position": None}]


@pytest.mark.parametrize(
    ("format_", "text"),
    [
        ("table", "TOPIC   POSITION\norders  7\na: b    -"),
        ("tsv", "topic\tposition\norders\t7\na: b\t-"),
        ("yaml", '- topic: "orders"\n  position: 7\n- topic: "a: b"\n  position: null'),
    ],
)
def test_rows_are_shown_in_each_format(format_: str, text: str) -> None:
    assert rendered(_COLUMNS, _ROWS, format_) == text


def test_json_holds_the_rows() -> None:
    assert json.loads(rendered(_COLUMNS, _ROWS, "json")) == _ROWS


@pytest.mark.parametrize(
    ("format_", "text"),
    [("table", "TOPIC  POSITION"), ("tsv", "topic\tposition"), ("yaml", "[]"), ("json", "[]")],
)
def test_no_rows_are_shown_too(format_: str, text: str) -> None:
    assert rendered(_COLUMNS, [], format_) == text


@pytest.mark.parametrize(
    ("format_", "text"),
    [
        ("table", "AGE    ALIVE\n1.5 s  yes\n-      no"),
        ("tsv", "age_ms\talive\n1500\ttrue\n-\tfalse"),
        ("yaml", "- age_ms: 1500\n  alive: true\n- age_ms: null\n  alive: false"),
    ],
)
def test_people_read_durations_and_programs_numbers(format_: str, text: str) -> None:
    rows: list[Row] = [{"age_ms": 1500, "alive": True}, {"age_ms": None, "alive": False}]
    assert rendered(["age_ms", "alive"], rows, format_) == text


def test_a_table_may_draw_percentages() -> None:
    rows: list[Row] = [{"percent": 100}, {"percent": 47}, {"percent": None}]
    drawn = "PERCENT\n██████████ 100\n████░░░░░░ 47\n-"
    assert rendered(["percent"], rows, "table", with_bars=True) == drawn
    assert rendered(["percent"], rows, "tsv", with_bars=True) == "percent\n100\n47\n-"


def test_people_read_sizes_and_short_names_of_nodes() -> None:
    node = "host/71137280-5213-4dc6-96ac-545b344f7b3e/B"
    row: Row = {"leader": node, "bytes_left": 60_597_054, "bytes_per_s": 503_591}
    columns = ["leader", "bytes_left", "bytes_per_s"]
    table = "LEADER           BYTES_LEFT  BYTES_PER_S\nhost/71137280/B  61 MB       504 kB/s"
    assert rendered(columns, [row], "table") == table
    assert rendered(columns, [row], "tsv").splitlines()[1] == f"{node}\t60597054\t503591"


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("pieces", [[], [[]], [_ROWS], [_ROWS[:1], [], _ROWS[1:], _ROWS]])
def test_rows_that_come_in_pieces_are_shown_as_all_at_once(
    format_: str, pieces: list[list[Row]]
) -> None:
    rows = [row for each in pieces for row in each]
    shown = "\n".join(streamed(_COLUMNS, pieces, format_))
    assert shown == rendered(_COLUMNS, rows, format_)


@pytest.mark.parametrize("format_", ["json", "tsv"])
def test_no_more_than_two_pieces_are_kept(format_: str) -> None:
    taken = 0

    def pieces() -> Iterator[Sequence[Row]]:
        nonlocal taken
        for taken in range(1, 4):
            yield [{"topic": f"t{taken}", "position": taken}]

    for text in streamed(_COLUMNS, pieces(), format_):
        if "t1" in text:
            break
    assert taken <= 2
