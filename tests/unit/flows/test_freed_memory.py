"""Memory of records that were changed is used again for the next ones."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from typing import Final

import pytest

from flows.source.transform.freed_memory import keep_freed_memory

_PROGRAM: Final = """
import resource
from flows.source.transform.freed_memory import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def change():
    [bytearray(b"x") * (4 << 20) for _ in range(4)]

assert keep_freed_memory()
change()
before = faults()
for _ in range(20):
    change()
print(faults() - before)
"""
_PAGES: Final = 20 * 4 * (4 << 20) // 4096
"""What these changes write to."""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="another C library")
def test_pages_that_were_freed_are_not_asked_for_again() -> None:
    command = [sys.executable, "-c", _PROGRAM]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(found.stdout) < _PAGES / 10


def test_a_c_library_without_such_a_setting_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not keep_freed_memory()
