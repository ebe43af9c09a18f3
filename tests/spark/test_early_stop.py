"""That a mirror which is told to stop while it starts does so, and takes its JVM with it."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import psutil
import pytest

from mm2.demo.processes import Watched
from tests.support.eventually import eventually
from tests.support.family import family_of, javas

pytestmark = pytest.mark.spark

_NOBODY_LISTENS = """\
clusters = A, B
A.bootstrap.servers = 127.0.0.1:1
B.bootstrap.servers = 127.0.0.1:1
A->B.enabled = true
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_before_anything_runs_leaves_no_process_behind(
    number: signal.Signals, tmp_path: Path
) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(_NOBODY_LISTENS)
    command = str(Path(sys.executable).with_name("connect-mirror-maker"))
    mirror = Watched([command, str(file)], tmp_path / "mirror.log")
    try:
        process = psutil.Process(mirror.pid)
        family = eventually(lambda: family_of(process), until=lambda found: bool(javas(found)))
        process.send_signal(number)
        assert eventually(lambda: mirror.status, until=lambda status: status is not None) == 0
        _, alive = psutil.wait_procs(list(family), timeout=60)
        assert alive == []
    finally:
        mirror.end(timeout=10)
