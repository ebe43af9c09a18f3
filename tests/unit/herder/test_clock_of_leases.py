"""A lease runs out while the machine sleeps, too."""

from __future__ import annotations

import time

import pytest

from mm2.protocol import lease_clock


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="no such clock on this system")
def test_time_goes_on_while_the_machine_is_suspended(monkeypatch: pytest.MonkeyPatch) -> None:
    asleep = {time.CLOCK_MONOTONIC: 5.0, time.CLOCK_BOOTTIME: 3_605.0}
    monkeypatch.setattr(time, "clock_gettime", asleep.__getitem__)
    monkeypatch.setattr(time, "monotonic", lambda: 5.0)
    assert lease_clock.seconds() == 3_605.0
