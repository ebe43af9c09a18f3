"""A run that a signal ends from outside takes its nodes and brokers with it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.support.eventually import PATIENCE_S, eventually
from tests.support.family import family_of
from tests.support.mirror import ROOT

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.chaos]


@contextmanager
def _run(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run of one node; kills what is left of it."""
    arguments = ["run", "--nodes", "1", "--logs", str(folder), "--json", str(folder / "found.json")]
    command = [sys.executable, "-m", "tests.harness.chaos", *arguments]
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as process:
        family = []
        try:
            yield process
        finally:
            with suppress(psutil.NoSuchProcess):
                family = psutil.Process(process.pid).children(recursive=True)
            for each in family:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
            process.kill()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.thorough)],
)
def test_a_signal_ends_nodes_and_brokers_too(tmp_path: Path, number: signal.Signals) -> None:
    with _run(tmp_path) as process:
        log = tmp_path / "node-0" / "mirror-0.log"
        # Once the node has said something, the brokers run, too.
        eventually(lambda: log.exists() and log.stat().st_size > 0, timeout=2 * PATIENCE_S)
        family = family_of(psutil.Process(process.pid))
        commands = " ".join(word for words in family.values() for word in words)
        assert "kafka.Kafka" in commands
        assert "connect-mirror-maker" in commands
        process.send_signal(number)
        assert process.wait(2 * PATIENCE_S) == 128 + number
        _, left = psutil.wait_procs(list(family), PATIENCE_S)
        assert left == []
