"""Reports failures of a flow's parts to the status keeper, even when a supervisor restarts them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from mm2.config.flow_config import FlowConfig
from mm2.core.connect.status_records import ConnectorKey, TaskKey
from mm2.core.model import SOURCE_CONNECTOR
from mm2.errors import ConfigError, root_cause
from mm2.herder.flow_protocols import BundleRunner, SmallFlow
from mm2.kafka.flow_clusters import FlowClusters
from mm2.protocol.bundle_spec import BundleSpec
from mm2.slot_allocation import Slots

OnFailure: TypeAlias = Callable[[ConnectorKey | TaskKey, str | None], None]
"""Called with None when a connector or task starts, and with the reason when it has failed."""


class ReportingRunner:
    """Runs bundles with another runner, and reports starts and failures."""

    def __init__(self, runner: BundleRunner, on_failure: OnFailure) -> None:
        self._runner = runner
        self._on_failure = on_failure

    @property
    def slots(self) -> Slots:
        """Of which each bundle needs one to run."""
        return self._runner.slots

    async def start(self) -> None:
        """Starts what they run in, if it does not run (any more)."""
        await self._runner.start()

    async def problem(self, config: FlowConfig) -> ConfigError | None:
        """What is wrong with a flow that only shows where its bundles run."""
        return await self._runner.problem(config)

    async def run(self, spec: BundleSpec) -> Mapping[str, int]:
        """Runs one bundle to its end and returns its totals; raises what the other runner does."""
        key = TaskKey(SOURCE_CONNECTOR, spec.index)
        self._on_failure(key, None)
        try:
            return await self._runner.run(spec)
        except Exception as error:
            self._on_failure(key, _reason(error))
            raise

    async def is_running(self, bundle: str) -> bool:
        """Whether a bundle that was to run has begun to, and has not ended."""
        return await self._runner.is_running(bundle)


def reporting_flow(flow: SmallFlow, connector: str, on_failure: OnFailure) -> SmallFlow:
    """The same flow, which reports starts and failures as the only task of a connector."""
    key = TaskKey(connector, 0)

    async def run(config: FlowConfig, clusters: FlowClusters) -> None:
        on_failure(key, None)
        try:
            await flow(config, clusters)
        except Exception as error:
            on_failure(key, _reason(error))
            raise

    return run


def _reason(error: Exception) -> str:
    cause = root_cause(error)
    return f"{type(cause).__name__}: {cause}"
