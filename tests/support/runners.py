"""Runners of bundles for tests without Spark."""

from __future__ import annotations

from mm2.config.flow_config import FlowConfig
from mm2.errors import ConfigError
from mm2.slot_allocation import Slots


class EndlessRunner:
    """Has a slot for every bundle, and is there at once."""

    def __init__(self) -> None:
        self.slots = Slots(None)

    async def start(self) -> None:
        """Has nothing to start."""

    async def problem(self, config: FlowConfig) -> ConfigError | None:
        """Runs anything."""
        del config
        return None

    async def is_running(self, bundle: str) -> bool:
        """Runs what it is given at once, if it does not say otherwise."""
        del bundle
        return True
