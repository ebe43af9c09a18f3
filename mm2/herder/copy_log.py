"""Logs once a minute how far the copy of a flow is, or how fast it goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import structlog

from mm2.core.first_copy import first_copy_progress
from mm2.herder.view.flow_views import FlowView, Totals
from mm2.herder.view.topic_views import topics_of
from mm2.supervision import run_periodically

log = structlog.get_logger()

_EVERY_S: Final = 60.0


class CopyLog:
    """Tells of one flow."""

    def __init__(self, view: Callable[[], FlowView]) -> None:
        self._view = view
        self._was_behind = False

    async def run(self) -> None:
        """Looks each minute until cancelled."""
        await run_periodically(_EVERY_S, self.look, name="copy-log", at_once=False)

    async def look(self) -> None:
        """
        Says how far the copy is, if it is behind; and once that it is not any more.

        From then on says how fast records are copied, but nothing while there are none.
        """
        view = self._view()
        progress = first_copy_progress(view.partitions)
        if progress.is_behind:
            log.info(
                "flow.catching_up",
                percent=progress.percent,
                topics=sum(each.progress.is_behind for each in topics_of(view)),
                records_left=progress.records_left,
                bytes_left=progress.bytes_left,
                bytes_per_s=round(progress.bytes_per_s),
                eta_s=progress.eta_s,
            )
        elif self._was_behind:
            log.info("flow.caught_up")
        else:
            _tell_of_rates(view.totals)
        self._was_behind = progress.is_behind


def _tell_of_rates(totals: Totals) -> None:
    if totals.records_per_s > 0:
        log.info(
            "flow.copied",
            partitions=totals.partitions,
            records_per_s=round(totals.records_per_s, 1),
            bytes_per_s=round(totals.bytes_per_s),
            lag=totals.lag,
            latency_ms=totals.latency_ms,
        )
