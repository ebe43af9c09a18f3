"""The page of commands is made from the commands."""

from __future__ import annotations

import re
from pathlib import Path

from click import Context

from mm2.cli.command_reference import reference_page
from mm2.cli.mm2 import main

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "commands.md"


def test_the_page_of_commands_is_current() -> None:
    assert PAGE.read_text() == reference_page(), "run scripts/generate-docs"


def test_every_command_is_on_the_page_with_its_options() -> None:
    page = reference_page()
    assert all(f"\n## mm2 {name}\n" in page for name in main.list_commands(Context(main)))
    assert "### mm2 failover execute" in page
    assert "--without-checkpoint" in page
    assert "| `--no-color` |" in page


def test_a_choice_divides_no_row_of_a_table() -> None:
    rows = [line for line in reference_page().splitlines() if line.startswith("| ")]
    assert "| <code>--as [connectors&#124;strimzi]</code> |" in "\n".join(rows)
    assert [row for row in rows if row.replace("\\|", "").count("|") != 3] == []


def test_exit_statuses_are_a_table() -> None:
    page = reference_page()
    assert "| 130 | somebody has ended it with --once |\n" in page
    assert "| 3 | a cluster cannot be reached or refuses |\n\nWith --execute and" in page
    assert "Exit status: 0 " not in page


def test_a_reference_to_another_page_is_a_paragraph_of_its_own() -> None:
    assert re.findall(r".+\nSee \[.+", reference_page()) == []
