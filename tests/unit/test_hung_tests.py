"""A test that hangs fails, or ends its process, whatever it makes of its timeout."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support.eventually import PATIENCE_S
from tests.support.in_time import in_time
from tests.support.layout import ROOT
from tests.support.virtual_time import run

_PLUGIN = """
import pytest
from tests.support.hung_tests import HungTests

def pytest_configure(config):
    config.pluginmanager.register(HungTests(again_s=0.1, uninterrupted_s=UNINTERRUPTED_S))
"""
_WAITS_AGAIN = """
    try:
        threading.Event().wait()
    finally:
        threading.Event().wait()
"""
_UVLOOP = """
    uvloop.run(asyncio.Event().wait())
"""
_HYPOTHESIS = """
    @hypothesis.given(hypothesis.strategies.booleans())
    def tried(_):
        threading.Event().wait()
    tried()
"""
_TASK = """
    async def turn():
        while True:
            time.sleep(0.01)
            await asyncio.sleep(0)

    async def work():
        turning = asyncio.create_task(turn())
        await asyncio.Event().wait()

    asyncio.run(work())
"""
_TORN_DOWN = """
    request.addfinalizer(threading.Event().wait)
    assert False, "before"
"""
_GOES_ON = """
    while True:
        with contextlib.suppress(BaseException):
            threading.Event().wait()
"""
_FAILS_AND_GOES_ON = """
    def end():
        while True:
            with contextlib.suppress(BaseException):
                threading.Event().wait()

    request.addfinalizer(end)
    assert False, "before"
"""


def _run(folder: Path, body: str, *, uninterrupted_s: float) -> subprocess.CompletedProcess[str]:
    """Runs a test with this body, and one that passes."""
    (folder / "conftest.py").write_text(_PLUGIN.replace("UNINTERRUPTED_S", str(uninterrupted_s)))
    imports = "import asyncio, contextlib, threading, time, hypothesis.strategies, uvloop\n"
    tests = f"{imports}def test_first(request):{body}\ndef test_second(): pass\n"
    (folder / "test_both.py").write_text(tests)
    # Schemathesis imports more when the run ends, which Python 3.11 may refuse after an interrupt.
    plugins = ["randomly", "cacheprovider", "schemathesis"]
    options = [*(f"-pno:{each}" for each in plugins), "-q", "-c", "/dev/null"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--timeout", "0.2", "--rootdir", ".", "."],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (_WAITS_AGAIN, "1 failed, 1 passed"),
        (_UVLOOP, "1 failed, 1 passed"),
        (_HYPOTHESIS, "1 failed, 1 passed"),
        (_TASK, "1 failed, 1 passed"),
        (_TORN_DOWN, "1 failed, 1 passed, 1 error"),
    ],
    ids=["cleans up", "uvloop", "hypothesis", "task", "torn down"],
)
def test_what_swallows_an_interrupt_or_waits_again_fails(
    tmp_path: Path, body: str, outcome: str
) -> None:
    done = _run(tmp_path, body, uninterrupted_s=PATIENCE_S)
    assert outcome in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("body", [_GOES_ON, _FAILS_AND_GOES_ON], ids=["goes on", "torn down"])
def test_what_cannot_be_interrupted_ends_with_its_process(tmp_path: Path, body: str) -> None:
    # Between two interrupts: Python's dump of a thread that runs, and does not wait, may crash.
    done = _run(tmp_path, body, uninterrupted_s=1.05)
    assert done.returncode == 1
    assert "test_both.py" in done.stderr, "where it stands"
    assert "passed" not in done.stdout


@pytest.mark.parametrize("turn_s", [0.0, 3600.0])
def test_turns_in_virtual_time_that_have_no_end_are_a_livelock(turn_s: float) -> None:
    async def turn() -> None:
        await asyncio.sleep(turn_s)
        tasks.append(asyncio.create_task(turn(), name="turn"))
        del tasks[:-2]

    async def work() -> None:
        await turn()
        await asyncio.Event().wait()

    tasks: list[asyncio.Task[None]] = []
    with pytest.raises(AssertionError, match="a livelock"):
        run(work())
    # Else they are destroyed in some later test. What is logged of that parses source, and
    # Python 3.11 fails if it is parsing anything just then.
    tasks.clear()
    gc.collect()


def test_a_call_that_does_not_return_fails_and_others_give_what_they_give() -> None:
    may_return = threading.Event()
    with pytest.raises(AssertionError, match="has not returned"):
        in_time(may_return.wait, 0.01)
    may_return.set()
    assert in_time(lambda: 7) == 7
    with pytest.raises(TimeoutError, match="its own"):
        in_time(_times_out)


def _times_out() -> None:
    raise TimeoutError("its own")
