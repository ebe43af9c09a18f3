"""What flows have copied, as Spark shows it."""

from __future__ import annotations

from collections.abc import Sequence

from mm2.herder.view.led_flow import LedFlow


def totals_of(led: Sequence[LedFlow]) -> dict[str, int]:
    """Records and bytes that all tasks of these flows have copied, by names with the flow's."""
    found: dict[str, int] = {}
    for flow in led:
        label = flow.config.herder.names.label
        copied = [total.copied for total in flow.snapshot.totals.values()]
        found[f"{label}.records"] = sum(records for records, _ in copied)
        found[f"{label}.bytes"] = sum(size for _, size in copied)
    return found
