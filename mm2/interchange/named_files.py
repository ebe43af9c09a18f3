"""Files that a configuration names by their paths, which containers have to mount."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mm2.config.text.expressions import expressions

CONFIGURATION_FOLDER: Final = "/etc/mm2"
_KEY: Final = re.compile(r"(?:.*\.)?ssl\.(?:key|trust)store\.location|rest\.basic\.auth\.file")
_OF_NODE: Final = re.compile(r"(?:admin\.|metrics\.)?listeners\..*|rest\..*")
"""Keys that only a node reads, and no task."""

_NOT_FOR_KEYS: Final = re.compile(r"[^-._A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class NamedFile:
    """
    A file that has to be there where the mirror runs.

    Attributes:
        written: the path as the configuration has it.
    """

    written: str

    @property
    def path(self) -> str:
        """The path in a container, whose working directory is the root."""
        return posixpath.normpath(posixpath.join("/", self.written))

    @property
    def source(self) -> str:
        """The path on the machine; one that is relative is found beside the rendered file."""
        return self.written if self.written.startswith("/") else f"./{self.written}"

    @property
    def key(self) -> str:
        """Its name among the files of a secret."""
        return _NOT_FOR_KEYS.sub("-", self.path.strip("/"))

    @property
    def beside_configuration(self) -> str | None:
        """Its path below the folder of the configuration; None if it is elsewhere."""
        folder = f"{CONFIGURATION_FOLDER}/"
        return self.path.removeprefix(folder) if self.path.startswith(folder) else None


def names_file(key: str) -> bool:
    """Whether the value of a key is the path of a file."""
    return _KEY.fullmatch(key) is not None


def read_by_tasks(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that tasks may read, too: their clients' among them."""
    return {key: value for key, value in properties.items() if not _OF_NODE.fullmatch(key)}


def named_files(properties: Mapping[str, str], folders: Sequence[str]) -> tuple[NamedFile, ...]:
    """
    The files that keys name: key stores, trust stores, and the passwords of REST.

    Args:
        folders: that are mounted anyway; their files need nothing more.
    """
    named = (value.strip() for key, value in properties.items() if names_file(key))
    files = [NamedFile(each) for each in named if each and not any(expressions(each))]
    mounted = tuple(f"{each.rstrip('/')}/" for each in folders)
    return tuple({each.path: each for each in files if not each.path.startswith(mounted)}.values())
