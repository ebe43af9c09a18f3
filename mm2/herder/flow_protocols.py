"""What a herder needs from the layers above it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from mm2.config.flow_config import FlowConfig
from mm2.errors import ConfigError
from mm2.kafka.flow_clusters import FlowClusters
from mm2.protocol.bundle_spec import BundleSpec
from mm2.slot_allocation import Slots


class BundleRunner(Protocol):
    """Runs bundles of the source flow somewhere: in Spark."""

    @property
    def slots(self) -> Slots:
        """Of which each bundle needs one to run."""

    async def start(self) -> None:
        """Starts what they run in, if it does not run (any more)."""

    async def problem(self, config: FlowConfig) -> ConfigError | None:
        """What is wrong with a flow that only shows where its bundles run."""

    async def run(self, spec: BundleSpec) -> Mapping[str, int]:
        """
        Runs one bundle to its end and returns its totals; cancelling it ends the bundle at once.

        Raises:
            Exception: the bundle failed and may be run again.
        """

    async def is_running(self, bundle: str) -> bool:
        """Whether a bundle that was to run has begun to, and has not ended; soon answered."""


class SmallFlow(Protocol):
    """A flow that the herder's own process carries: checkpoints, heartbeats."""

    async def __call__(self, config: FlowConfig, clusters: FlowClusters) -> None:
        """Runs until cancelled; ends at once when the configuration turns it off."""
