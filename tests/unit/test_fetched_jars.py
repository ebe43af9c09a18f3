"""Jars are fetched once, and anew when the pom that lists them has changed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.layout import ROOT

_SCRIPT = "fetch-kafka"
_JAVA = "#!/bin/sh\n"
_MAVEN = """#!/bin/sh
printf '\\033[0m'
for word; do
    case $word in
    *"$REFUSED") echo "no such jar"; exit 1 ;;
    -DoutputDirectory=*) libs=${word#*=} ;;
    esac
done
mkdir -p "$libs"
touch "$libs/fetched.jar"
"""
"""Resets colours; refuses a pom of that name, and fetches one jar for every other one."""


class _Place:
    """A checkout with the script alone, and programs that fetch nothing."""

    def __init__(self, root: Path) -> None:
        self.poms = sorted(each.name for each in (ROOT / "scripts").glob("*-pom.xml"))
        for name in ("scripts", "bin"):
            (root / name).mkdir()
        for name in (_SCRIPT, *self.poms):
            shutil.copy(ROOT / "scripts" / name, root / "scripts" / name)
        for name, text in {"java": _JAVA, "mvn": _MAVEN}.items():
            (root / "bin" / name).write_text(text)
            (root / "bin" / name).chmod(0o755)
        self.root = root

    def fetch(self, option: str = "--tests", *, refused: str = "nothing") -> tuple[int, str]:
        """Runs the script; returns its status, and what it says."""
        done = subprocess.run(
            [self.root / "scripts" / _SCRIPT, *option.split()],
            env={"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}", "REFUSED": refused},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout == ""
        return done.returncode, done.stderr

    def change(self, pom: str) -> None:
        """Changes a pom."""
        path = self.root / "scripts" / pom
        path.write_text(path.read_text() + "<!-- changed -->\n")


@pytest.fixture
def place(tmp_path: Path) -> _Place:
    return _Place(tmp_path)


def test_a_changed_pom_is_fetched_anew_and_alone(place: _Place) -> None:
    status, said = place.fetch()
    assert status == 0
    assert all(f"Fetching {pom}" in said for pom in place.poms)
    assert place.fetch() == (0, "")
    for old in place.root.glob("build/kafka/*/libs"):
        (old / "old.jar").touch()
    place.change("connect-client-pom.xml")
    assert place.fetch() == (0, "Fetching connect-client-pom.xml (connect-client) ...\n")
    left = [each.parent.parent.name for each in place.root.glob("build/kafka/*/libs/old.jar")]
    assert sorted(left) == ["3.9.1", "4.3.0", "yarn"]


def test_what_tests_alone_need_is_not_fetched_for_others(place: _Place) -> None:
    assert place.fetch("")[0] == 0
    assert sorted(each.name for each in place.root.glob("build/kafka/*")) == ["3.9.1", "4.3.0"]
    assert place.fetch("") == (0, "")


def test_what_was_fetched_before_poms_were_noted_is_not_fetched_again(place: _Place) -> None:
    place.fetch()
    for complete in place.root.glob("build/kafka/*/complete"):
        complete.write_text("")
    assert place.fetch() == (0, "")
    place.change("kafka-pom.xml")
    assert "Fetching kafka-pom.xml (4.3.0)" in place.fetch()[1]


@pytest.mark.parametrize("pom", ["connect-client-pom.xml", "yarn-pom.xml"])
def test_what_few_tests_need_keeps_nobody_from_starting(place: _Place, pom: str) -> None:
    status, said = place.fetch(refused=pom)
    assert status == 0
    assert re.search(r"could not be fetched; the tests? that needs? it fail", said)
    assert "no such jar" in said
    assert f"Fetching {pom}" in place.fetch()[1]


def test_brokers_that_cannot_be_fetched_are_an_error(place: _Place) -> None:
    status, said = place.fetch(refused="kafka-broker-pom.xml")
    assert status == 1
    assert "connect-client" not in said
