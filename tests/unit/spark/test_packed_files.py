"""What is compiled of a file goes to executors with it."""

from __future__ import annotations

from importlib.util import cache_from_source
from pathlib import Path

import pytest

from flows.spark.package_env import _installed_files, with_compiled


def test_bytecode_and_machine_code_go_with_their_source(tmp_path: Path) -> None:
    bytecode = Path(cache_from_source("kernel.py")).name
    compiled = [bytecode, "kernel._rewrite-202.py311.nbi"]
    folder = tmp_path / "__pycache__"
    folder.mkdir()
    # The second one is of another file, and the third one is just being written.
    for name in [*compiled, f"kernels{bytecode.removeprefix('kernel')}", f"{bytecode}.1394"]:
        (folder / name).touch()
    source, other = tmp_path / "kernel.py", tmp_path / "kernel.txt"
    packed = sorted(with_compiled(source, "mm2/wire/kernel.py"))
    assert packed == sorted(
        [
            (source, "mm2/wire/kernel.py"),
            *((folder / name, f"mm2/wire/__pycache__/{name}") for name in compiled),
        ]
    )
    assert [*with_compiled(other, "mm2/wire/kernel.txt")] == [(other, "mm2/wire/kernel.txt")]


def test_a_distribution_of_the_users_is_packed_wherever_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "of_users-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: of-users\nVersion: 1.0\n")
    (about / "RECORD").write_text("of_users.py,,\n../bin/tool,,\n")
    module = tmp_path / "of_users.py"
    module.touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    packed = {*_installed_files(["of-users"])}
    assert (module.resolve(), "of_users.py") in packed
    assert not any(name.startswith("..") for _, name in packed)
