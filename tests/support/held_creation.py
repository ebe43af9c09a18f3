"""A rebalance listener that has its process create no topic until a test allows it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path

import pytest

from flows.legacy import target_topics
from flows.legacy.target_topics import TargetTopics
from mm2.core.model import TopicName, TopicPartition
from tests.support.eventually import eventually_async

_FOR_EVER_S = 1e9


class HeldCreation:
    """
    Notes below a folder what the process does about topics that are missing, and what it owns.

    Who waits for the owner of partition 0 does so for ever, and not for seconds.

    Args:
        folder: of the notes.
    """

    def __init__(self, folder: str) -> None:
        notes, patched = Path(folder), pytest.MonkeyPatch()
        prepare, provide = TargetTopics.prepare, TargetTopics._provide

        async def noted(self: TargetTopics, partitions: Collection[TopicPartition]) -> None:
            _note(notes / "owned", [f"{each.topic}-{each.partition}" for each in partitions])
            await prepare(self, partitions)

        async def held(
            self: TargetTopics, wanted: dict[TopicName, int], there: dict[TopicName, int]
        ) -> None:
            _note(notes / "looked", there)
            if wanted:
                _note(notes / "asked", wanted)
                files = [_allowed(notes, name) for name in wanted]
                await eventually_async(
                    lambda: asyncio.sleep(0, all(each.exists() for each in files))
                )
            await provide(self, wanted, there)

        patched.setattr(TargetTopics, "prepare", noted)
        patched.setattr(TargetTopics, "_provide", held)
        patched.setattr(target_topics, "_OTHERS_CREATE_S", _FOR_EVER_S)

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        """Does nothing: a listener has to have a method that is called."""


def allow(folder: Path, name: str) -> None:
    """Lets a process create a topic."""
    _allowed(folder, name).touch()


def _allowed(folder: Path, name: str) -> Path:
    return folder / f"allowed-{name}"


def _note(file: Path, names: Collection[str]) -> None:
    with file.open("a") as out:
        out.writelines(f"{name}\n" for name in names)


def times(folder: Path, note: str, name: str) -> int:
    """
    How often a process has noted something.

    That is: ``looked`` whether a topic is there, ``asked`` to create it, ``owned`` a partition.
    """
    file = folder / note
    return file.read_text().splitlines().count(name) if file.exists() else 0
