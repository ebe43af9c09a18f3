"""
The user's rebalance listener: a class in Python, called after the tool's own work is done.

Its methods are KIP-3's (``before_releasing_partitions``, ``before_starting_fetchers``) or those of
today's ``ConsumerRebalanceListener`` (``on_partitions_revoked``, ``on_partitions_assigned``); what
it does not have is not called.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

from flows.legacy.user_classes import created
from mm2.config.legacy import flags
from mm2.core.model import TopicPartition
from mm2.core.user_objects import load_object
from mm2.errors import ConfigError, Mm2Error

_RELEASING: Final = "before_releasing_partitions"
_STARTING: Final = "before_starting_fetchers"
_REVOKED: Final = "on_partitions_revoked"
_ASSIGNED: Final = "on_partitions_assigned"
_METHODS: Final = (_RELEASING, _STARTING, _REVOKED, _ASSIGNED)


class ListenerFailed(Mm2Error):
    """A method of the listener has raised something; the stream ends."""


class ListenerCalls:
    """
    Calls a listener; with none, nothing.

    Args:
        consumer: the id of the stream, for ``before_starting_fetchers``.

    Raises:
        ConfigError: it cannot be loaded or created, or would never be called.
    """

    def __init__(self, path: str | None, arguments: str | None, *, consumer: str) -> None:
        self._consumer = consumer
        self._path = path
        self._listener: object = None
        if path is not None:
            self._listener = created(flags.LISTENER, path, lambda: _loaded(path, arguments))

    async def assigned(self, partitions: Sequence[TopicPartition]) -> None:
        """
        Tells of partitions that the stream has got.

        Raises:
            ListenerFailed: the listener raises something, whatever it is.
        """
        by_topic: dict[str, dict[int, str]] = {}
        for where in partitions:
            by_topic.setdefault(where.topic, {})[where.partition] = self._consumer
        await self._call(_STARTING, self._consumer, by_topic)
        await self._call(_ASSIGNED, list(partitions))

    async def revoked(self, partitions: Sequence[TopicPartition]) -> None:
        """
        Tells of partitions whose offsets are committed, and which the stream gives up.

        Raises:
            ListenerFailed: the listener raises something, whatever it is.
        """
        by_topic: dict[str, set[int]] = {}
        for where in partitions:
            by_topic.setdefault(where.topic, set()).add(where.partition)
        await self._call(_RELEASING, by_topic)
        await self._call(_REVOKED, list(partitions))

    async def _call(self, name: str, *arguments: object) -> None:
        method: Callable[..., Any] | None = getattr(self._listener, name, None)
        if method is None:
            return
        try:
            found = await asyncio.to_thread(method, *arguments)
            if inspect.isawaitable(found):
                await found
        except (Exception, SystemExit) as error:
            # An exit must not end the worker before it has committed.
            message = f"{flags.LISTENER} {self._path} fails in {name}: {error!r}"
            raise ListenerFailed(message) from error


def _loaded(path: str, arguments: str | None) -> object:
    """KIP-3 gives the arguments to the constructor."""
    kind = load_object(path)
    listener = kind() if arguments is None else kind(arguments)
    if not any(callable(getattr(listener, name, None)) for name in _METHODS):
        raise ConfigError(f"it has no method {', '.join(_METHODS[:-1])} or {_METHODS[-1]}")
    return listener
