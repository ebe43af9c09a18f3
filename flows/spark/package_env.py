"""
Packs what tasks need into an archive that Spark brings to executors (``spark.archives``).

It is a virtual environment that may be unpacked anywhere. Its interpreter is not in it, but a link
to that of this machine, which executors must have at the same path.
"""

from __future__ import annotations

import re
import sys
import sysconfig
import tarfile
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import cache_from_source, find_spec
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Final

from mm2.errors import ConfigError
from mm2.kafka.wire.compiled import compile_now

_OURS: Final = "mm2"
_PACKAGES: Final = ("mm2", "flows")
_EXTRA: Final = "spark"
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_OF_EXTRA: Final = re.compile(r"extra\s*==\s*[\"'](?P<name>[^\"']+)[\"']")
_OF_DRIVER: Final = ("pyspark/jars/", "pyspark/examples/", "pyspark/data/")
"""What only the process has that starts Spark; executors have the jars of their cluster."""

_COMPILED: Final = "__pycache__"
_OF_NUMBA: Final = (".nbi", ".nbc")
_COMPRESSION: Final = 1
"""Most of it are libraries that better compression makes little smaller."""


def package_environment(archive: Path, more: Sequence[str] = ()) -> int:
    """
    Writes a ``.tar.gz`` with mm2 and all that it requires, and returns its bytes.

    Args:
        archive: is replaced if it is there.
        more: names of installed distributions that tasks need, too, for classes of the user.

    Raises:
        ConfigError: one of them is not installed, or can only be used where it lies.
        OSError: the archive cannot be written.
    """
    folder = PurePosixPath(f"lib/python{sysconfig.get_python_version()}/site-packages")
    part = archive.with_name(f".{archive.name}.part")
    try:
        with tarfile.open(part, "w:gz", compresslevel=_COMPRESSION) as tar:
            _add_interpreter(tar)
            compile_now()
            for file, name in sorted({*_own_files(), *_installed_files(more)}):
                tar.add(file, str(folder / name), recursive=False, filter=_of_nobody)
        part.replace(archive)
    finally:
        part.unlink(missing_ok=True)
    return archive.stat().st_size


def _add_interpreter(tar: tarfile.TarFile) -> None:
    interpreter = Path(sys.executable).resolve()
    text = f"home = {interpreter.parent}\ninclude-system-site-packages = false\n".encode()
    config = tarfile.TarInfo("pyvenv.cfg")
    config.size = len(text)
    tar.addfile(config, BytesIO(text))
    link = tarfile.TarInfo("bin/python")
    link.type, link.linkname = tarfile.SYMTYPE, str(interpreter)
    tar.addfile(link)


def _of_nobody(file: tarfile.TarInfo) -> tarfile.TarInfo:
    """Tells nobody whose files these are; executors run as somebody else."""
    file.uid = file.gid = 0
    file.uname = file.gname = ""
    return file


def _own_files() -> Iterator[tuple[Path, str]]:
    """The code of mm2, wherever it lies; a development installation has none of it inside."""
    for package in _PACKAGES:
        spec = find_spec(package)
        assert spec is not None  # noqa: S101 - this is one of them
        for folder in spec.submodule_search_locations or ():
            root = Path(folder)
            for file in root.rglob("*"):
                if file.is_file() and _COMPILED not in file.parts:
                    yield from with_compiled(file, f"{package}/{file.relative_to(root).as_posix()}")


def with_compiled(file: Path, name: str) -> Iterator[tuple[Path, str]]:
    """
    A file, and what Python and Numba have made of it, which each executor would make anew.

    Both are valid for a source of the same size and time of change, which the archive keeps.
    """
    yield file, name
    if file.suffix == ".py":
        bytecode = Path(cache_from_source(file)).name
        for each in (file.parent / _COMPILED).glob(f"{file.stem}.*"):
            if each.name == bytecode or each.suffix in _OF_NUMBA:
                yield each, str(PurePosixPath(name).parent / _COMPILED / each.name)


def _installed_files(more: Sequence[str]) -> Iterator[tuple[Path, str]]:
    for found in _required(more):
        for each in found.files or ():
            name = each.as_posix()
            root = Path(str(found.locate_file(""))).resolve()
            if name.startswith(("..", "/", *_OF_DRIVER)):
                continue
            file = root / name
            if _COMPILED not in each.parts and file.is_file():
                yield from with_compiled(file, name)


def _required(more: Sequence[str]) -> list[Distribution]:
    """The distributions that mm2 and ``more`` require, without mm2 itself."""
    found: dict[str, Distribution] = {}
    waiting = [*_requirements(distribution(_OURS), extra=_EXTRA), *more]
    while waiting:
        name = waiting.pop()
        try:
            each = distribution(name)
        except PackageNotFoundError:
            if name in more:
                raise ConfigError(f"{name} is not installed in {sys.prefix}.") from None
            continue  # of another platform or version of Python
        key = each.metadata["Name"].lower()
        if key in found:
            continue
        if name in more and not _is_copied(each):
            message = f"{name} is installed in editable mode, from its source"
            raise ConfigError(f"{message}: install it with pip install, without -e.")
        found[key] = each
        waiting += _requirements(each)
    return list(found.values())


def _is_copied(found: Distribution) -> bool:
    return any(each.suffix in {".py", ".so"} for each in found.files or ())


def _requirements(found: Distribution, *, extra: str | None = None) -> Iterator[str]:
    """The names of what a distribution requires, of its extras only those of ``extra``."""
    for line in found.requires or ():
        of_extra = _OF_EXTRA.search(line)
        if (of_extra is None or of_extra["name"] == extra) and (name := _NAME.match(line)):
            yield name[0]
