"""Which partitions ``mm2 offsets`` is about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from mm2.config.flow_config import FlowConfig
from mm2.herder.offsets.offset_changes import Change, OffsetChanges
from tests.support.configs import TWO_CLUSTERS_TEXT


class _Asked:
    """Keeps what it is asked for."""

    topics: Mapping[str, Collection[int]] | None = None

    async def deleted(self, topics: Mapping[str, Collection[int]] | None) -> list[Change]:
        self.topics = topics
        return []

    async def check_stopped(self) -> None:
        """It is."""


@pytest.mark.parametrize(
    ("words", "topics"),
    [
        (["orders"], {"orders": set()}),
        (["orders:1", "orders:0,2", "audit"], {"orders": {0, 1, 2}, "audit": set()}),
        (["orders", "orders:0"], {"orders": set()}),
        (["orders:0", "orders"], {"orders": set()}),
    ],
    ids=str,
)
def test_partitions_are_those_of_all_words_together(
    words: list[str], topics: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No partitions stand for all of a topic."""
    asked = _Asked()

    @asynccontextmanager
    async def of(_: FlowConfig) -> AsyncIterator[_Asked]:
        yield asked

    monkeypatch.setattr(OffsetChanges, "of", of)
    file = tmp_path / "mm2.properties"
    file.write_text(f"{TWO_CLUSTERS_TEXT}A->B.enabled = true\n")
    options = [option for word in words for option in ("--topic", word)]
    ran = CliRunner().invoke(main, ["offsets", "reset", str(file), *options])
    assert ran.exit_code == 0, ran.output
    assert asked.topics == topics
