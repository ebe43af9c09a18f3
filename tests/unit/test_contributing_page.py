"""What CONTRIBUTING.md shows is there."""

from __future__ import annotations

import re
import tomllib
from collections import Counter

from tests.support.layout import ROOT

_PAGE = (ROOT / "CONTRIBUTING.md").read_text()
_IN_EACH_FOLDER = {"__init__.py", "__main__.py", "conftest.py"}
_IN_NO_PICTURE = {
    "mm2.slot_allocation",
    "mm2.user_code",
    "mm2.user_patterns",
    "mm2.aligned_waits",
    "mm2.clock",
    "mm2.stop_deadlines",
    "mm2.errors",
}
"""Single modules, which all packages above them may import."""


def test_the_picture_shows_the_layers_in_their_order() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    levels = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    layers = [name for level in levels for name in level.split(" | ")]
    shown = re.findall(r'\["([\w.]+): ', _PAGE)
    assert shown == [name for name in layers if name not in _IN_NO_PICTURE]


def test_tests_and_scripts_that_are_named_are_there() -> None:
    tests = re.findall(r"\b(tests/[\w/]+\.py)(?:::(\w+))?", _PAGE)
    assert len(tests) > 1
    assert all(name in (ROOT / file).read_text() for file, name in tests)
    scripts = re.findall(r"\bscripts/[\w/-]+", _PAGE)
    assert [name for name in scripts if not (ROOT / name).exists()] == []


def test_file_names_are_unique_over_all_of_tests() -> None:
    names = Counter(path.name for path in (ROOT / "tests").rglob("*.py"))
    assert {name for name, count in names.items() if count > 1} <= _IN_EACH_FOLDER
