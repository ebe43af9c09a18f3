"""What is compiled of a file goes to executors with it."""

from __future__ import annotations

from pathlib import Path

from flows.spark.package_env import with_compiled


def test_bytecode_and_machine_code_go_with_their_source(tmp_path: Path) -> None:
    compiled = ["kernel.cpython-311.pyc", "kernel._rewrite-202.py311.nbi"]
    folder = tmp_path / "__pycache__"
    folder.mkdir()
    for name in [*compiled, "kernels.cpython-311.pyc"]:
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
