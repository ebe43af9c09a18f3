"""What a user gets who installs the wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Final

import pytest

from mm2 import __version__
from mm2.cli.setup.render_command import KINDS
from tests.support.providers import docker_answers
from tests.support.wheel import build_wheel, install_wheel, without_checkout

_ROOT = Path(__file__).parents[3]
_PROGRAMS = (
    "mm2",
    "connect_mirror_maker",
    "connect_distributed",
    "connect_standalone",
    "kafka_mirror_maker",
)
_RENDER_ALL: Final = """
from mm2.cli.mm2 import main
from mm2.cli.setup.render_command import KINDS
from mm2.demo.demo_clusters import sample_config
print(sample_config())
for kind in KINDS:
    main(["render", kind, "mm2.properties", "--output", kind], standalone_mode=False)
    print(kind)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """The wheel, unpacked."""
    folder = built.parent / "unpacked"
    zipfile.ZipFile(built).extractall(folder)
    return folder


@pytest.fixture(scope="module")
def programs(built: Path) -> Path:
    """Where the programs of the installed wheel are."""
    return install_wheel(built, built.parent / "installed")


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


@pytest.mark.slow
def test_what_is_installed_from_it_makes_a_file_and_renders_all_kinds_of_it(
    built: Path, programs: Path, tmp_path: Path
) -> None:
    """With templates, the dashboard and the demo's file from the wheel: none of a checkout."""

    def said(program: str, *words: str) -> str:
        done = subprocess.run(
            [programs / program, *words],
            env=without_checkout(),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert __version__ in said("mm2", "--version")
    clusters = ("--source", "A=a:9092", "--target", "B=b:9092")
    said("mm2", "init", "--offline", *clusters, "mm2.properties")
    assert "A->B.enabled = true" in (tmp_path / "mm2.properties").read_text()
    sample, *rendered = said("python", "-c", _RENDER_ALL).splitlines()
    assert Path(sample).is_relative_to(programs.parent)
    assert rendered == list(KINDS)
    assert all([*(tmp_path / kind).iterdir()] for kind in KINDS)
    image = (tmp_path / "docker" / "Dockerfile").read_text()
    assert f"COPY dist/{built.name} /tmp/" in image
    (entry,) = re.findall(r'^ENTRYPOINT \["(\S+)"\]$', image, re.MULTILINE)
    assert (programs / entry).is_file()


@pytest.mark.thorough
@pytest.mark.timeout(1800)
def test_the_rendered_image_is_built_and_starts(
    built: Path, programs: Path, tmp_path: Path
) -> None:
    if not docker_answers():
        pytest.skip("Docker does not run here")

    def docker(*words: str | Path) -> str:
        command: list[str | Path] = ["docker", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1500)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    clusters = ("--source", "A=a:9092", "--target", "B=b:9092")
    file, folder = tmp_path / "mm2.properties", tmp_path / "image"
    init: list[str | Path] = ["init", "--offline", *clusters, file]
    render: list[str | Path] = ["render", "docker", file, "--output", folder]
    for words in (init, render):
        subprocess.run([programs / "mm2", *words], env=without_checkout(), check=True)
    (folder / "dist").mkdir()
    shutil.copy(built, folder / "dist")
    image = docker("build", "--quiet", folder).strip()
    try:
        assert __version__ in docker("run", "--rm", image, "--version")
    finally:
        docker("rmi", image)
