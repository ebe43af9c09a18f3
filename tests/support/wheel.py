"""The wheel, built from this checkout, and a virtual environment that has it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.support.layout import ROOT

_UV: Final = Path(sys.executable).with_name("uv")


def build_wheel(folder: Path) -> Path:
    """Builds the wheel into a folder that has no other."""
    command: list[str | Path] = [_UV, "build", "--wheel", "--quiet", "--out-dir", folder, ROOT]
    subprocess.run(command, check=True, timeout=120)
    (wheel,) = folder.glob("mm2-*.whl")
    return wheel


def install_wheel(wheel: Path, folder: Path) -> Path:
    """
    Makes a virtual environment with the wheel alone; the folder of its programs.

    What mm2 needs is that of this interpreter: nothing is fetched. A checkout that is installed
    here is not seen there, because Python reads no path file in a folder that one names.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=120)
    programs = folder / "bin"
    options = ["--no-index", "--no-deps", "--offline", "--quiet", "--python", f"{programs}/python"]
    subprocess.run([_UV, "pip", "install", *options, wheel], check=True, timeout=120)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return programs


def without_checkout() -> Mapping[str, str]:
    """The environment of a process that finds the installed mm2 only."""
    left_out = {"PYTHONPATH", "MM2_CONFIG", "VIRTUAL_ENV"}
    return {name: value for name, value in os.environ.items() if name not in left_out}
