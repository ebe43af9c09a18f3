"""Code that is compiled when it is first needed: nobody waits for it, and nobody needs it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest
from structlog.testing import capture_logs

from mm2.kafka.wire import compiled
from mm2.kafka.wire.compiled import Compiled, NotCarried, compile_now, reencode
from tests.support.batches import Plain, write_batch

_KERNEL = "mm2.kafka.wire.kernel"
_DATA = write_batch([Plain(offset=5, timestamp=7, value=b"x")])


@pytest.fixture
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nothing had been compiled yet."""
    monkeypatch.setattr(compiled, "_compiled", Compiled())


def test_what_is_needed_before_it_is_compiled_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    may_go_on = threading.Event()

    class _Slow(ModuleType):
        def __getattr__(self, name: str) -> object:
            may_go_on.wait(30)
            return compiled_already

    compile_now()
    assert reencode(_DATA, 0) is not None
    compiled_already = sys.modules[_KERNEL].rewrite
    monkeypatch.setattr(compiled, "_compiled", Compiled())
    monkeypatch.setitem(sys.modules, _KERNEL, _Slow(_KERNEL))
    monkeypatch.setattr(sys.modules["mm2.kafka.wire"], "kernel", sys.modules[_KERNEL])
    with pytest.raises(NotCarried, match="not compiled yet"):
        reencode(_DATA, 0)
    may_go_on.set()
    compile_now()
    section = reencode(_DATA, 0)
    assert section is not None
    assert (section.offsets, section.base_timestamp) == ([5], 7)


@pytest.mark.usefixtures("_fresh")
def test_what_cannot_be_compiled_is_said_once_and_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, _KERNEL, None)
    monkeypatch.delattr("mm2.kafka.wire.kernel", raising=False)
    with capture_logs() as logs:
        compile_now()
        for _ in range(3):
            with pytest.raises(NotCarried, match="not compiled yet"):
                reencode(_DATA, 0)
    assert [each["event"] for each in logs] == ["records.not_compiled"]


def test_damaged_records_are_refused() -> None:
    compile_now()
    with pytest.raises(NotCarried, match="cannot be read"):
        reencode(_DATA[:-1], 0)


@pytest.mark.slow
def test_a_damaged_cache_is_passed_over(tmp_path: Path) -> None:
    """A crash, or a full disk, may leave half of a file."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", f"import {_KERNEL} as kernel; kernel.rewrite(bytes(61), 0)"]
    subprocess.run(command, env=environment, check=True)
    (index,) = tmp_path.rglob("*.nbi")
    index.write_bytes(b"")
    subprocess.run(command, env=environment, check=True)
