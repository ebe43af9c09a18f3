"""What a user gets who installs the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from mm2 import __version__

_ROOT = Path(__file__).parents[3]
_PROGRAMS = (
    "mm2",
    "connect_mirror_maker",
    "connect_distributed",
    "connect_standalone",
    "kafka_mirror_maker",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    uv = Path(sys.executable).with_name("uv")
    command = [str(uv), "build", "--wheel", "--quiet", "--out-dir", str(folder), str(_ROOT)]
    subprocess.run(command, check=True, timeout=120)
    (file,) = folder.glob(f"mm2-{__version__}-*.whl")
    zipfile.ZipFile(file).extractall(folder / "installed")
    return folder / "installed"


def test_all_packages_and_their_data_are_in_it(wheel: Path) -> None:
    found = [*(_ROOT / "mm2").rglob("*"), *(_ROOT / "flows").rglob("*")]
    files = [
        str(each.relative_to(_ROOT))
        for each in found
        if each.is_file() and "__pycache__" not in each.parts
    ]
    assert files
    assert [name for name in files if not (wheel / name).is_file()] == []


def test_the_sample_configuration_is_in_it(wheel: Path) -> None:
    sample = _ROOT / "config" / "mirror-maker.properties"
    assert (wheel / "mm2" / "demo" / sample.name).read_bytes() == sample.read_bytes()


def test_all_its_programs_are_known_and_described() -> None:
    scripts = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert {name.replace("-", "_") for name in scripts} == {*_PROGRAMS}
    page = (_ROOT / "docs" / "how-to" / "install.md").read_text()
    assert [name for name in scripts if f"`{name}`" not in page] == []


@pytest.mark.parametrize("program", _PROGRAMS)
def test_its_programs_start(wheel: Path, program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"mm2.cli.{program}", "--version"],
        env={**os.environ, "PYTHONPATH": str(wheel)},
        cwd=wheel,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert __version__ in done.stdout, done.stderr
