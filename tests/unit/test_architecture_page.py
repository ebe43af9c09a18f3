"""The walks in the architecture page: short, and along modules that are there."""

from __future__ import annotations

import re

import pytest

from tests.support.layout import ROOT

_PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
_STEP = re.compile(r"^\| `([^`]+\.py)` \| `([^`]+)` \| [^|]+ \|$", re.MULTILINE)
_WALK = re.compile(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_WALKS = {title: _STEP.findall(section) for title, section in _WALK.findall(_PAGE)}
_MOST = (35, 15, 15, 12)
_STEPS = [step for steps in _WALKS.values() for step in steps]


def test_the_walks_are_short() -> None:
    lengths = [len(steps) for steps in _WALKS.values()]
    assert len(lengths) == len(_MOST)
    assert all(0 < length <= most for length, most in zip(lengths, _MOST, strict=True))


@pytest.mark.parametrize(("file", "name"), _STEPS)
def test_each_step_of_a_walk_is_there(file: str, name: str) -> None:
    path = ROOT / file
    assert path.is_file(), f"docs/explanation/architecture.md names {file}"
    pattern = rf"^\s*(class|def|async def) {re.escape(name)}\b"
    assert re.search(pattern, path.read_text(), re.MULTILINE), f"{file} has no {name}"
