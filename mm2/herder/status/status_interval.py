"""How often connector states are re-evaluated for the status topic."""

from __future__ import annotations

import asyncio
from typing import Final

from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.protocol.desired_state import DesiredState

_EVERY_S: Final = 1.0
_PARTITIONS_IN_A_SECOND: Final = 500
"""Thousands of partitions are looked at less often."""

_LIVELY_LOOKS: Final = 20
"""As long as it may take until tasks have drained, or have begun."""


class AdaptiveInterval:
    """
    Looks each second while something happens, and less often at large flows that just go on.

    Something happens when operators want something else, and when something fails or begins.
    """

    def __init__(self) -> None:
        self._steering: DesiredState | None = None
        self._lively = 0

    def news(self) -> None:
        """Learns that something has failed, or begins."""
        self._lively = _LIVELY_LOOKS

    async def until_due(self, picture: FlowSnapshot) -> None:
        """
        Waits until it is time for another look.

        Args:
            picture: of the flow.
        """
        await asyncio.sleep(_EVERY_S)
        waited_s = _EVERY_S
        while (
            not self._is_lively(picture)
            and waited_s < len(picture.partitions) / _PARTITIONS_IN_A_SECOND
        ):
            await asyncio.sleep(_EVERY_S)
            waited_s += _EVERY_S
        self._lively = max(0, self._lively - 1)

    def _is_lively(self, picture: FlowSnapshot) -> bool:
        if picture.steering is not self._steering:
            self._steering = picture.steering
            self.news()
        return self._lively > 0
