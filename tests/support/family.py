"""What a process has started; any of it may end while it is looked at."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

Family = Mapping[psutil.Process, Sequence[str]]
"""Processes that run, and the words of their commands."""


def family_of(process: psutil.Process, *, but: Family | None = None) -> Family:
    """
    All that a process has started and that runs, children of children too.

    Args:
        process: which must run.
        but: those that were there before.
    """
    found = {}
    for each in process.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # Also said of who has ended and is there.
            found[each] = each.cmdline()
    return {each: words for each, words in found.items() if each not in (but or {})}


def javas(family: Family) -> list[psutil.Process]:
    """Those that run Java."""
    return [each for each, words in family.items() if words and Path(words[0]).name == "java"]
