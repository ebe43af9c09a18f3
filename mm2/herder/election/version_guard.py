"""Stops a node from leading a flow whose control topic has records of a newer version."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from mm2 import __version__
from mm2.herder.control.control_topic import ControlTopicState

log = structlog.get_logger()


class VersionGuard:
    """
    Follows whether a control topic has a record that only a newer release understands.

    Such a record may come while the node leads, and be taken back while it must not.

    Args:
        caught_up: called once, when all is known that was there at the start, and understood.
        rejoin: has the flow's group decide again, from what this node could lead now.
    """

    def __init__(
        self,
        control_topic: ControlTopicState,
        *,
        caught_up: Callable[[], None],
        rejoin: Callable[[], None],
    ) -> None:
        self._control_topic = control_topic
        self._caught_up = caught_up
        self._rejoin = rejoin
        self._has_caught_up = False
        self._was_complete = True

    @property
    def is_complete(self) -> bool:
        """Whether the node could lead."""
        return self._control_topic.newer is None

    def check(self) -> None:
        """Acts on what has changed; to be called when the board has caught up, and then often."""
        if not self._control_topic.caught_up.is_set():
            return
        if self.is_complete != self._was_complete:
            self._was_complete = self.is_complete
            if not self.is_complete:
                log.error("flow.too_new", reason=self._control_topic.newer, release=__version__)
            self._rejoin()
        if self.is_complete and not self._has_caught_up:
            self._has_caught_up = True
            self._caught_up()
