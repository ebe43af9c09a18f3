"""``LiveSlots`` that follow no application."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

from flows.spark.live_slots import LiveSlots
from flows.spark.warmth import Warmth
from mm2.slot_allocation import Slots
from mm2.telemetry.spark_use import LastSpark


def idle_slots(threads: Executor, slots: Slots | None = None, **options: Any) -> LiveSlots:
    """None was submitted, and what metrics show is nobody else's; ``options`` win."""
    idle: dict[str, Any] = {
        "submitted": list,
        "context": lambda: None,
        "restart": lambda: None,
        "warmth": Warmth(threads, is_cluster=True),
        "last": LastSpark(),
    }
    return LiveSlots(slots or Slots(None), threads=threads, **{**idle, **options})
