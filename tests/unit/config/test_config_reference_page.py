"""The generated page and the sample agree with the table."""

from __future__ import annotations

from mm2.config.checks.findings import findings
from mm2.config.keys.key_table import TABLE
from mm2.config.keys.keys_mm2 import SPELLINGS
from mm2.config.pages.key_reference import live_page, reference_page
from mm2.config.pages.transform_reference import transforms_page
from mm2.config.text.properties import load
from tests.support.layout import ROOT


def test_the_page_in_the_repository_is_up_to_date() -> None:
    """If not: run scripts/generate-docs."""
    page = ROOT / "docs" / "reference" / "configuration.md"
    assert page.read_text(encoding="utf-8") == reference_page()


def test_the_page_of_live_changes_is_up_to_date() -> None:
    """If not: run scripts/generate-docs."""
    page = ROOT / "docs" / "reference" / "live-changes.md"
    assert page.read_text(encoding="utf-8") == live_page()


def test_the_page_of_transforms_is_up_to_date() -> None:
    """If not: run scripts/generate-docs."""
    page = ROOT / "docs" / "reference" / "transforms.md"
    assert page.read_text(encoding="utf-8") == transforms_page()


def test_the_page_lists_every_key_and_every_spelling() -> None:
    page = reference_page()
    for name in [*TABLE, *(spelling.name for spelling in SPELLINGS)]:
        assert f"| `{name}" in page, name


def test_the_sample_has_no_problems() -> None:
    assert findings(load(ROOT / "config" / "mirror-maker.properties")) == []
