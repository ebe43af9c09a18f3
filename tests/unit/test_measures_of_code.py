"""What scripts/measure-code says about a small tree, and what it must not find in this one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.support.layout import ROOT

_FILES = {
    "top/__init__.py": '"""A package."""\n',
    "top/low.py": '''
        """
        Two lines of code, four of docstrings.
        """

        # A comment is neither.
        WIDTH = 1
        """Of a column."""

        TEXT = "at least once"
        ''',
    "top/left.py": """
        from top.low import WIDTH
        from top import right

        class Task:
            async def run(self) -> None: ...

        class _Own: ...
        """,
    "top/right.py": """
        import top.left

        class Task:
            def run(self) -> None:
                class _Own: ...
        """,
    "top/inner/__init__.py": "from .names import LeaseHolder\n",
    "top/inner/names.py": "class LeaseHolder: ...\n",
    "top/inner/low.py": """
        def run() -> None:
            from ..left import Task
        """,
    "top/long.py": "\n" * 301,
}
_GLOSSARY = """\
# Glossary

- **lease holder**: who leads.
| **`at least once`** | nothing is lost |
**task**, in **italics**: only the first is a term.
- **flow**: nothing has that name.
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in _FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).removeprefix("\n") if text.strip() else text)
    return tmp_path


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    script = str(ROOT / "scripts" / "measure-code")
    return subprocess.run(
        [sys.executable, script, *arguments], capture_output=True, text=True, check=False
    )


def _measured(tree: Path, *packages: str) -> Mapping[str, Any]:
    done = _run("--json", "--root", str(tree), *(packages or ["top"]))
    assert done.returncode == 0, done.stderr
    measured: Mapping[str, Any] = json.loads(done.stdout)
    return measured


@pytest.fixture(scope="module")
def ours() -> Mapping[str, Any]:
    """What is measured of this project, which takes seconds."""
    return _measured(ROOT, "mm2", "flows")


def test_lines_are_told_apart(tree: Path) -> None:
    report = _measured(tree)
    assert report["packages"] == {
        "top": {"modules": 4, "lines": 323, "code": 11, "docstrings": 5},
        "top.inner": {"modules": 2, "lines": 4, "code": 4, "docstrings": 0},
    }
    assert (report["lines"], report["code"], report["docstrings"]) == (327, 15, 5)
    assert report["modules"] == 6
    assert report["long_modules"] == {"top.long": 301}


def test_imports_are_followed_wherever_they_stand(tree: Path) -> None:
    report = _measured(tree)
    assert report["single_importer"] == ["top.inner.names", "top.low", "top.right"]
    assert report["circles"] == [["top.left", "top.right"]]
    assert report["longest_chain"] == ["top.inner.low", "top.left", "top.low"]


def test_no_modules_of_the_project_import_each_other(ours: Mapping[str, Any]) -> None:
    assert ours["circles"] == []


def test_from_the_process_to_a_spark_job_are_five_levels_of_supervision(
    ours: Mapping[str, Any],
) -> None:
    """Those of docs/adr/0022-five-levels-of-supervision.md."""
    levels = [each.partition(":")[0] for each in ours["supervision"]]
    assert levels == [
        "mm2.herder.bundles.bundle_supervisor",
        "mm2.herder.herder",
        "mm2.herder.leader_flow",
        "mm2.herder.source_controller",
    ]


def test_parts_beside_a_level_are_none(tree: Path) -> None:
    (tree / "top" / "levels.py").write_text(
        'A = Supervised("a")\nB = Supervised("b", is_cut=True)\n'
    )
    assert _measured(tree)["supervision"] == ["top.levels:1"]


def test_names_that_exist_twice_are_listed_with_their_places(tree: Path) -> None:
    report = _measured(tree)
    assert report["repeated_classes"] == {"Task": ["top.left", "top.right"]}
    assert report["repeated_private_classes"] == {"_Own": ["top.left", "top.right"]}
    assert report["repeated_modules"] == {"low": ["top.inner.low", "top.low"]}
    assert report["functions_called_run"] == 3


def test_terms_are_looked_for_in_names_and_strings(tree: Path) -> None:
    assert _measured(tree)["unused_terms"] is None
    page = tree / "docs" / "explanation" / "glossary.md"
    page.parent.mkdir(parents=True)
    page.write_text(_GLOSSARY)
    assert _measured(tree)["unused_terms"] == ["flow"]


def test_a_table_shows_the_same(tree: Path) -> None:
    shown = _run("--root", str(tree), "top").stdout.splitlines()
    assert [line.split() for line in shown[:2]] == [["lines", "327"], ["lines", "of", "code", "15"]]
    assert len({len(line) for line in shown[: shown.index("")]}) == 1, "numbers are not aligned"
    assert "  Task: top.left, top.right" in shown


def test_a_package_that_is_missing_is_an_error(tree: Path) -> None:
    done = _run("--root", str(tree), "bottom")
    assert done.returncode == 2
    assert "bottom" in done.stderr
