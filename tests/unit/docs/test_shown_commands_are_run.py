"""Each command that the documentation shows is run by a test, or there is a reason why not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.support.layout import ROOT
from tests.support.shown_commands import PAGES, shell_lines

_PROGRAM: Final = re.compile(
    r"^(?:\S*/)?(?:mm2|connect-[a-z-]+|kafka-[a-z-]+(?:\.sh)?|curl|java|python3?|pip|uv|git|kubectl"
    r"|docker|systemctl|spark-submit|setup|demo|test|bench|chaos|trials|scale|py-spy|source(?= <)) "
)
_COMMANDS: Final = "integration/test_documented_commands.py"
_PROCEDURES: Final = "integration/test_documented_procedures.py"
_README: Final = "integration/test_readme.py"

_NOT_RUN: Final = {
    r"kubectl ": "there is no Kubernetes on machines of tests",
    r"curl .*:8081/": "a schema registry is no part of mm2",
    r"mm2 verify .* --topics _schemas": "the page's flow is another one than that of the tests",
    r"mm2 events --url https:": "the node asks for a login: unit/cli/test_events_command.py",
    r"pip install 'mm2\[otel\]'": "it fetches packages; the set-up has installed them",
    r"uv build |python3 -m venv |\S+/pip install ": (
        "it makes another installation: unit/docs/test_wheel.py starts what is in the wheel"
    ),
    r"\./scripts/(?:trials|scale) ": "it takes hours: unit/harness has its parts",
    r"git config ": "it changes the checkout",
    r"\./scripts/(?:setup|test)\b": "it is what has made the environment, or runs this test",
    r"\.venv/bin/python -m pytest ": "it is a test",
    r"\.venv/bin/py-spy ": "it needs rights over other processes, and one of them",
}
"""What is only parsed, and why."""

_RUN: Final = {
    r"(?:README|docs/tutorial)\.md: ": _README,
    r"docs/runbooks/\S+: mm2 ": _PROCEDURES,
    r"\S+: connect-mirror-maker ": _PROCEDURES,
    r"\S+: kafka-mirror-maker --consumer": _PROCEDURES,
    r"\S+: source <\(mm2 completion": _PROCEDURES,
    r"\S+: kafka-(?:topics|consumer-groups)\.sh ": _PROCEDURES,
    r"docs/how-to/\S+: (?:mm2|curl) ": _COMMANDS,
    r"\S+: kafka-mirror-maker \.\.\. ": "integration/test_legacy_handlers.py",
    r"\S+: kafka-acls\.sh ": "integration/test_faults_before_the_start.py",
    r"\S+: connect-standalone ": "integration/test_connect_standalone.py",
    r"\S+: connect-distributed ": "integration/test_connect_distributed.py",
    r"docs/explanation/\S+: mm2 flows limit ": "integration/test_limit_command.py",
    r"\S+: spark-submit ": "spark/test_spark_submit.py",
    r"\S+: \./scripts/demo": _README,
    r"\S+: \./scripts/bench ": _README,
    r"\S+: \./scripts/chaos ": "chaos/test_signals_end_a_run.py",
    r"\S+: (?:\S*/)?python -m flows\.spark\.archive": "unit/test_setup_script.py",
    r"\S+: \S*bin/mm2 --version": "unit/docs/test_wheel.py",
    r"\S+: \S*bin/mm2 demo --once": "integration/test_demo.py",
    r"docs/how-to/upgrade\.md: \S*bin/mm2 (?:config validate|doctor) ": _COMMANDS,
}
"""The tests that run what is shown, by page and command."""


def _shown() -> list[str]:
    """Each command, behind the path of its page."""
    found = (
        f"{page.relative_to(ROOT)}: {line}"
        for page in PAGES
        for line in shell_lines(page)
        if _PROGRAM.match(f"{line} ")
    )
    return [*dict.fromkeys(found)]


def _reason(shown: str) -> str | None:
    line = shown.partition(": ")[2]
    return next((why for part, why in _NOT_RUN.items() if re.match(part, line)), None)


@pytest.mark.parametrize("shown", _shown())
def test_a_test_runs_it_or_there_is_a_reason(shown: str) -> None:
    tests = [test for part, test in _RUN.items() if re.match(part, shown)]
    assert _reason(shown) or tests


def test_no_entry_is_left_of_what_is_not_shown_any_more() -> None:
    shown = _shown()
    lines = [each.partition(": ")[2] for each in shown]
    assert [part for part in _NOT_RUN if not any(re.match(part, each) for each in lines)] == []
    assert [part for part in _RUN if not any(re.match(part, each) for each in shown)] == []


@pytest.mark.parametrize("test", sorted(set(_RUN.values())))
def test_the_tests_are_there(test: str) -> None:
    assert (Path(ROOT) / "tests" / test).exists()


def test_few_commands_are_not_run() -> None:
    shown = _shown()
    without = [each for each in shown if _reason(each)]
    assert len(shown) > 150
    assert len(without) < len(shown) / 6
