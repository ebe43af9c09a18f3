"""What trials have found, as a table of the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.outcomes import save, write_table
from tests.harness.trials.__main__ import main
from tests.harness.trials.cost import Cost
from tests.harness.trials.cost import table_of as costs_table
from tests.harness.trials.rewinds import MOVES, settings_of
from tests.harness.trials.trial import (
    FAILBACK,
    FAILOVER,
    REWOUND,
    UNPLANNED,
    Toll,
    Trial,
    load,
)
from tests.harness.trials.trial_tables import COSTS, PAGE, TRIALS, table_of

_TRIALS = [
    Trial(kind=FAILOVER, group="a", seed=1, ours=Toll(0, 0), java=Toll(4_000, 0)),
    Trial(kind=FAILOVER, group="b", seed=1, ours=Toll(0, 0), java=Toll(0, 2)),
    Trial(kind=FAILBACK, group="a", seed=1, ours=Toll(0, 0)),
    Trial(kind=UNPLANNED, group="c", seed=1, ours=Toll(7, 0), allowed=6, java=Toll(9, 0)),
]


def test_each_kind_and_mirror_has_a_row() -> None:
    assert table_of(_TRIALS).splitlines()[2:] == [
        "| planned failover: mm2 | 2 | 0 | 0 | 0 | 0 | 0 |",
        "| planned failover: Java | 2 | 1 | 4,000 | 2,000 | 4,000 | 2 |",
        "| unplanned failover, source killed: mm2 | 1 | 1 | 7 | 7 | 7 | 0 |",
        "| the same, without what no checkpoint covered yet | 1 | 1 | 1 | 1 | 1 | 0 |",
        "| unplanned failover, source killed: Java | 1 | 1 | 9 | 9 | 9 | 0 |",
        "| failback: mm2 | 1 | 0 | 0 | 0 | 0 | 0 |",
    ]


def test_a_run_that_lacks_nothing_only_prints_its_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was found before is kept, and no cluster is started for it."""
    file = tmp_path / "trials.json"
    save(_TRIALS, file)
    words = ["run", "--planned", "2", "--unplanned", "1", "--json", str(file)]
    assert main(words) == 0
    assert table_of(_TRIALS) in capsys.readouterr().out
    assert load(file) == _TRIALS


def test_trials_of_rewinds_have_rows_of_their_own_and_go_on_where_they_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = settings_of(syncs=False, exactly_once=True)
    trials = [
        Trial(kind=f"{REWOUND}: {words}, failover, {move}", group="a", seed=7, ours=Toll(0, 0))
        for move in MOVES
    ]
    file = tmp_path / "trials.json"
    save(trials, file)
    run = ["rewinds", "--seeds", "1", "--seed", "7", "--no-sync", "--exactly-once"]
    assert main([*run, "--json", str(file)]) == 0
    row = "| rewound: no sync, exactly once, failover, unplanned | 1 | 0 | 0 | 0 | 0 | 0 |"
    assert row in capsys.readouterr().out


def test_only_the_table_of_the_page_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- trials -->\n| old |\n<!-- end -->\nb | c\n")
    write_table(TRIALS, table_of(_TRIALS), page)
    assert page.read_text() == f"a\n<!-- trials -->\n{table_of(_TRIALS)}<!-- end -->\nb | c\n"


def test_the_documentation_has_a_place_for_the_tables() -> None:
    for name in (TRIALS, COSTS):
        assert f"<!-- {name} -->\n" in PAGE.read_text()


def test_costs_say_what_a_run_takes() -> None:
    cost = Cost(title="t", records=1_000_000, runs=4, written=9_000, kept=250)
    assert costs_table([cost]).splitlines()[2] == "| t | 1,000,000 | 4 | 9,000 | 250 | 62.5 |"
