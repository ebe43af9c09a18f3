"""What the parts that fetch need to know of their task."""

from __future__ import annotations

from typing import Protocol

from mm2.config.record_clients import DataSettings
from mm2.core.model import TopicPartition
from mm2.core.positions.start_rules import Start


class FetchSpec(Protocol):
    """The settings of a task that fetches: of a bundle, or of a stream of the legacy tool."""

    @property
    def data(self) -> DataSettings:
        """How records are read and written."""

    @property
    def rack(self) -> str:
        """Where the task runs, for brokers that know of a nearer replica."""

    @property
    def replica_lease_s(self) -> float:
        """Seconds until the leader is asked again for a better replica."""

    def start(self, where: TopicPartition) -> Start:
        """Where a partition without a position begins."""
