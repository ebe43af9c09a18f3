"""Reports failures of a flow's parts to the status keeper, even when a supervisor restarts them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from mm2.config.flow_config import FlowConfig
from mm2.core.connect.status_records import ConnectorKey, TaskKey
from mm2.core.model import SOURCE_CONNECTOR
from mm2.errors import root_cause
from mm2.herder.flow_protocols import BundleRunner, SmallFlow
from mm2.kafka.flow_clusters import FlowClusters
from mm2.protocol.bundle_spec import BundleSpec
from mm2.slot_allocation import Slots

Hear: TypeAlias = Callable[[ConnectorKey | TaskKey, str | None], None]
"""Called when a connector or task begins (None), or why it has failed."""


class ReportingRunner:
    """
    Runs bundles as another runner does, and tells how that goes.

    Args:
        runner: runs them.
        hear: is called.
    """

    def __init__(self, runner: BundleRunner, hear: Hear) -> None:
        self._runner = runner
        self._hear = hear

    @property
    def slots(self) -> Slots:
        """Of which each bundle needs one to run."""
        return self._runner.slots

    async def start(self) -> None:
        """Starts what they run in, if it does not run (any more)."""
        await self._runner.start()

    async def run(self, spec: BundleSpec) -> Mapping[str, int]:
        """Runs one bundle to its end and returns its totals; raises what the other runner does."""
        key = TaskKey(SOURCE_CONNECTOR, spec.index)
        self._hear(key, None)
        try:
            return await self._runner.run(spec)
        except Exception as error:
            self._hear(key, _reason(error))
            raise


def reporting_flow(flow: SmallFlow, connector: str, hear: Hear) -> SmallFlow:
    """
    The same flow, telling how it goes as the only task of a connector.

    Args:
        flow: checkpoints or heartbeats.
        connector: simple name of Java's class.
        hear: is called.
    """
    key = TaskKey(connector, 0)

    async def run(config: FlowConfig, clusters: FlowClusters) -> None:
        hear(key, None)
        try:
            await flow(config, clusters)
        except Exception as error:
            hear(key, _reason(error))
            raise

    return run


def _reason(error: Exception) -> str:
    cause = root_cause(error)
    return f"{type(cause).__name__}: {cause}"
