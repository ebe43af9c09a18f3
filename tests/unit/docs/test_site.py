"""The documentation builds as a site, and its examples of files are right."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mm2.driver.file_validation import errors_of

_ROOT = Path(__file__).parents[3]
_PAGES = [_ROOT / "README.md", *sorted((_ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^ *```properties\n(.*?)^ *```", re.DOTALL | re.MULTILINE)

_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")
_SHORTEST_ALT = 15


def _files() -> list[tuple[str, str]]:
    """Pages and the complete configurations on them."""
    blocks = [(page.name, block) for page in _PAGES for block in _BLOCK.findall(page.read_text())]
    return [
        (name, block) for name, block in blocks if re.search(r"^ *clusters *=", block, re.MULTILINE)
    ]


@pytest.mark.parametrize(("page", "text"), _files())
def test_a_file_that_is_shown_is_right(
    page: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIMARY_PASSWORD", "example")
    file = tmp_path / "mm2.properties"
    file.write_text(text.replace("/etc/mm2/", f"{tmp_path}/"))
    problems = [str(each) for each in errors_of(file)]
    assert [each for each in problems if str(tmp_path) not in each] == [], page


def test_there_are_files_on_some_pages() -> None:
    assert len(_files()) > 9


def test_every_picture_is_shown_and_described() -> None:
    pages = [(page, page.read_text()) for page in _PAGES]
    shown = [(page, *each) for page, text in pages for each in _PICTURE.findall(text)]
    assert [place for _, alt, place in shown if len(alt) < _SHORTEST_ALT] == []
    used = {(page.parent / place).resolve() for page, _, place in shown}
    assert used == {*(_ROOT / "docs" / "images").iterdir()}


def test_no_link_of_the_site_leads_nowhere(tmp_path: Path) -> None:
    command = ["-m", "mkdocs", "build", "--strict", "-q", "-f", str(_ROOT / "scripts/mkdocs.yml")]
    done = subprocess.run(
        [sys.executable, *command, "-d", str(tmp_path / "site")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "how-to" / "install.html").read_text()
    assert not re.findall(r'(?:src|href)="(https?://(?!github)[^"]*\.(?:js|css|woff2?))"', page)
