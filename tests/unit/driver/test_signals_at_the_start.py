"""That a signal during the start leaves no JVM behind, whenever it comes."""

from __future__ import annotations

import signal
from typing import ClassVar

import pytest

from mm2.driver import start

SIGNALS = (signal.SIGTERM, signal.SIGINT)

pytestmark = pytest.mark.usefixtures("_own_signals")


class _Jvm:
    """Remembers whether it was ended, and is signalled while its process starts."""

    made: ClassVar[list[_Jvm]] = []
    signalled: ClassVar[tuple[signal.Signals, ...]] = ()

    def __init__(self, *_: object, **__: object) -> None:
        for number in self.signalled:
            signal.raise_signal(number)
        self.ended = False
        self.made.append(self)

    def end(self, *, within_s: float) -> None:
        assert within_s == 0
        signal.raise_signal(signal.SIGTERM)
        self.ended = True


@pytest.fixture
def jvm(monkeypatch: pytest.MonkeyPatch) -> type[_Jvm]:
    monkeypatch.setattr(start, "Jvm", _Jvm)
    monkeypatch.setattr(_Jvm, "made", [])
    return _Jvm


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_the_jvm_is_started_waits_until_it_can_be_ended(
    jvm: type[_Jvm], monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setattr(jvm, "signalled", (number,))
    with pytest.raises(SystemExit) as end:
        start.foreground(lambda *_: pytest.fail("went on"), spark={})
    assert end.value.code == 0
    assert [each.ended for each in jvm.made] == [True]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_after_that_ends_the_jvm(
    jvm: type[_Jvm], monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setattr("flows.spark.daemon.import_needed", lambda _: signal.raise_signal(number))
    with pytest.raises(SystemExit) as end:
        start.foreground(lambda *_: pytest.fail("went on"), spark={})
    assert end.value.code == 0
    assert [each.ended for each in jvm.made] == [True]
