"""What an instance counts and measures, in Prometheus' format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from mm2.core.offset_manager.commits import OffsetError

_OURS: Final = "mm2_offset_manager"
CLOSED: Final = ("no_room", "no_memory", "not_sent", "no_log_in")
"""Why connections of clients are closed."""


class Meters:
    """The meters of one instance."""

    def __init__(self) -> None:
        every = CollectorRegistry()
        self._registry = every
        self._commits = Counter(
            f"{_OURS}_kafka_commits",
            "Commits that were answered, by the name of the error.",
            ["error"],
            registry=every,
        )
        self._fetches = Counter(
            f"{_OURS}_fetches",
            "Fetches that were answered, by the name of the error.",
            ["error"],
            registry=every,
        )
        self._commit_s = Histogram(
            f"{_OURS}_commit_seconds", "How long commits took that count.", registry=every
        )
        self._load_s = Histogram(
            f"{_OURS}_load_seconds", "How long it took to load log partitions.", registry=every
        )
        self._offsets = Gauge(f"{_OURS}_cached_offsets", "Offsets in memory.", registry=every)
        self._led = Gauge(
            f"{_OURS}_led_partitions", "Log partitions that the instance leads.", registry=every
        )

        self._closed = Counter(
            f"{_OURS}_connections_closed",
            "Connections of clients that were closed for want of room or time, by the reason.",
            ["reason"],
            registry=every,
        )
        self._connections = Gauge(f"{_OURS}_connections", "Connections of clients.", registry=every)
        self._request_bytes = Gauge(
            f"{_OURS}_request_bytes",
            "Memory that requests of more than 16 KiB take up.",
            registry=every,
        )
        for reason in CLOSED:
            self._closed.labels(reason)

    def follow_clients(
        self, connections: Callable[[], int], request_bytes: Callable[[], int]
    ) -> None:
        """Asks these from now on."""
        self._connections.set_function(connections)
        self._request_bytes.set_function(request_bytes)

    def closed(self, reason: str) -> None:
        """A connection of a client was closed."""
        self._closed.labels(reason).inc()

    def committed(self, error: OffsetError, took_s: float) -> None:
        """A commit was answered."""
        self._commits.labels(error.name).inc()
        if not error:
            self._commit_s.observe(took_s)

    def fetched(self, error: OffsetError) -> None:
        """A fetch was answered."""
        self._fetches.labels(error.name).inc()

    def loaded(self, took_s: float) -> None:
        """Log partitions were loaded."""
        self._load_s.observe(took_s)

    def text(self, *, offsets: int, partitions: int) -> str:
        """
        All of them.

        Args:
            offsets: in memory now.
            partitions: of the log that are led now.
        """
        self._offsets.set(offsets)
        self._led.set(partitions)
        return generate_latest(self._registry).decode()
