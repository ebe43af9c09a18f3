"""
Ends a task after any of its requests to the target, as ``kill -9`` would.

The request is served; its answer, and all that would follow, never happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mm2.kafka.wire.requests.produce import ProduceAnswer
from mm2.kafka.wire.wire_client import WireClient


class Stopped(Exception):
    """The task is no more."""


class Interruption:
    """
    One interrupted run.

    Args:
        step: number of the last request that is served, from 1.
        before: called before each request, with its name.

    Attributes:
        steps: what was asked of the target, in order.
        is_over: whether it has come to that request.
    """

    def __init__(self, step: int, before: Callable[[str], None] = lambda _: None) -> None:
        self._last = step
        self._before = before
        self.steps: list[str] = []
        self.is_over = False

    def connect(self, alias: str, settings: Mapping[str, object]) -> WireClient:
        """A client that is interrupted."""
        return _InterruptedClient(alias, settings, self)

    def begin(self, step: str) -> bool:
        """Whether this request is the last one."""
        if self.is_over:
            raise Stopped
        self.steps.append(step)
        self._before(step)
        return len(self.steps) == self._last

    def end(self) -> None:
        """The last request has been served."""
        self.is_over = True
        raise Stopped


class _InterruptedClient(WireClient):
    def __init__(
        self, alias: str, settings: Mapping[str, object], interruption: Interruption
    ) -> None:
        super().__init__(alias, settings)
        self._interruption = interruption

    async def ask(self, node: int, request: object) -> Any:
        is_last = self._interruption.begin(type(request).__name__)
        answer = await super().ask(node, request)
        return self._interruption.end() if is_last else answer

    async def produce(
        self,
        node: int,
        batches: Iterable[tuple[str, int, bytes | bytearray]],
        *,
        timeout_ms: int,
        transactional_id: str | None = None,
    ) -> ProduceAnswer:
        batches = list(batches)
        topics = sorted({topic for topic, _, _ in batches})
        is_last = self._interruption.begin(f"produce to {', '.join(topics)}")
        answer = await super().produce(
            node, batches, timeout_ms=timeout_ms, transactional_id=transactional_id
        )
        if is_last:
            self._interruption.end()
        return answer
