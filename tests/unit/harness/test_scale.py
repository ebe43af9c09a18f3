"""``./scripts/scale`` measures every part for each number of partitions."""

from __future__ import annotations

import gc

import pytest

from tests.harness.scale.__main__ import costs, main, partitions_of


def test_each_part_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    # Garbage is collected before each part: what earlier tests have left is not to be gone through.
    gc.collect()
    gc.freeze()
    assert main(["--partitions", "200", "400", "--bundles", "4"]) == 0
    table = capsys.readouterr().out
    found = list(costs(200, 4))
    assert all(name in table for name, _, _ in found)
    assert all(seconds >= 0 for _, seconds, _ in found)


def test_partitions_are_those_of_topics_with_a_hundred_each() -> None:
    found = partitions_of(250)
    assert len(set(found)) == 250
    assert [str(each) for each in found[99:101]] == ["topic-000000-99", "topic-000001-0"]
