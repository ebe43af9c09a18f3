"""The line a minute about a copy: how far it is, or how fast it goes."""

from __future__ import annotations

from msgspec import structs
from structlog.testing import capture_logs

from mm2.herder.copy_log import CopyLog
from tests.support.configs import A_TO_B
from tests.support.status_page import copied, partition, running


async def test_a_copy_that_is_behind_is_told_of_until_it_is_complete() -> None:
    views = [
        running(A_TO_B, copied("a")),
        running(A_TO_B, partition("a"), partition("b")),
        running(A_TO_B, copied("a"), copied("b")),
        running(A_TO_B, copied("a"), copied("b")),
    ]
    copies = CopyLog(lambda: views.pop(0))
    with capture_logs() as logs:
        for _ in range(4):
            await copies.look()
    told = ["flow.copied", "flow.catching_up", "flow.caught_up", "flow.copied"]
    assert [each["event"] for each in logs] == told
    behind = logs[1]
    assert (behind["percent"], behind["topics"], behind["eta_s"]) == (40, 2, 60)
    assert (behind["records_left"], behind["bytes_left"]) == (1200, 1_200_000)


async def test_a_flow_that_copies_as_records_come_says_how_fast() -> None:
    copies = CopyLog(lambda: running(A_TO_B, copied("a"), copied("b")))
    with capture_logs() as logs:
        await copies.look()
    (told,) = logs
    assert (told["event"], told["log_level"]) == ("flow.copied", "info")
    assert (told["partitions"], told["records_per_s"], told["bytes_per_s"]) == (2, 24.0, 24_000)
    assert (told["lag"], told["latency_ms"]) == (0, 14)


async def test_an_idle_flow_says_nothing() -> None:
    idle = structs.replace(copied("a"), records_per_s=0.0, bytes_per_s=0.0)
    copies = CopyLog(lambda: running(A_TO_B, idle))
    with capture_logs() as logs:
        await copies.look()
    assert logs == []
