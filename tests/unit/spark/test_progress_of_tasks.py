"""Tasks of commands say how far they are, in lines that only the driver's bar understands."""

from __future__ import annotations

import pytest

from flows.spark.task_progress import ProgressLines, progress_in


def test_a_task_tells_its_progress_but_not_at_each_step(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = 0.0
    tell = ProgressLines(3, lambda: now)
    for step in range(20):
        now = step / 10
        tell(step)
    lines = capsys.readouterr().err.splitlines()
    assert [progress_in(line) for line in lines] == [(3, 5), (3, 10), (3, 15)]


@pytest.mark.parametrize(
    "line", ["", '{"mm2_task": true}', '{"mm2_progress": 1', '{"mm2_progress": 1, "done": null}']
)
def test_other_lines_are_not_about_progress(line: str) -> None:
    assert progress_in(line) is None
