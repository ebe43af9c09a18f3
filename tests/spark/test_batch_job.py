"""A Spark job of many tasks, as commands run it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.eventually import eventually

pytestmark = pytest.mark.spark

_PROGRAM = """
import sys, time
from pathlib import Path
from flows.spark.batch_job import run_tasks
from flows.spark.task_progress import ProgressLines
from mm2.telemetry.logs import configure_command_logs

told, ended = [], []

def task(number):
    ProgressLines(number, iter((0.0, 1.0, 1.0)).__next__)(10 + number)
    if number == 1 and folder.endswith("endless"):
        Path(folder, "mark").touch()
        time.sleep(1000)
    return number * number

folder = sys.argv[1]
configure_command_logs()
results = run_tasks(
    {"spark.master": "local[2]"}, task, 5, title="test",
    reached=lambda *each: told.append(each), ended=ended.append,
)
print(results, sorted(told), sorted(ended))
"""


def _start(folder: Path) -> subprocess.Popen[str]:
    folder.mkdir()
    program = folder / "program.py"
    program.write_text(_PROGRAM)
    return subprocess.Popen(
        [sys.executable, str(program), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def test_results_and_progress_are_those_of_all_tasks(tmp_path: Path) -> None:
    process = _start(tmp_path / "quick")
    told, complaints = process.communicate(timeout=200)
    reached = [(number, 10 + number) for number in range(5)]
    assert told == f"[0, 1, 4, 9, 16] {reached} {list(range(5))}\n", complaints


def test_an_interrupted_job_leaves_no_process_behind(tmp_path: Path) -> None:
    folder = tmp_path / "endless"
    process = _start(folder)
    eventually((folder / "mark").exists, until=bool, timeout=200)
    family = psutil.Process(process.pid).children(recursive=True)
    assert family
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=100)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in complaints
    _, alive = psutil.wait_procs(family, timeout=60)
    assert alive == []
