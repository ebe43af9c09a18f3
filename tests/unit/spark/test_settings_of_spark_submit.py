"""What ``spark-submit`` makes up is told apart from what it was given."""

from __future__ import annotations

import pytest

from flows.spark.submitted import asked_for

_CLASS = "org.apache.spark.deploy.SparkSubmit"
_LOCAL = {"spark.master": "local[*]", "spark.app.name": "mirror.py"}


@pytest.fixture(autouse=True)
def _program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/srv/mirror.py", "mm2.properties"])


def test_what_it_makes_up_was_not_asked_for() -> None:
    submitted = {**_LOCAL, "spark.ui.port": "1"}
    assert asked_for(submitted, f"{_CLASS} mirror.py") == {"spark.ui.port": "1"}


@pytest.mark.parametrize(
    "options",
    [
        "--master local[*] --name mirror.py",
        "--conf spark.master=local[*] --conf spark.app.name=mirror.py",
    ],
    ids=["options", "settings"],
)
def test_the_same_was_asked_for_where_the_command_says_it(options: str) -> None:
    assert asked_for(_LOCAL, f"{_CLASS} {options} mirror.py") == _LOCAL


def test_other_values_are_those_of_files() -> None:
    of_files = {"spark.master": "yarn", "spark.app.name": "mine"}
    assert asked_for(of_files, f"{_CLASS} mirror.py") == of_files
