"""
The classes that a flow's configuration names, which may be the user's own.

Whether they can be had, and who holds their objects: these are closed with their last holder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Self

from mm2.config.checks.allowed_classes import names_foreign
from mm2.config.flow_config import FlowConfig
from mm2.config.keys.keys_mm2 import ARROW_FUNCTION, HANDLER
from mm2.core.filters import (
    build_config_property_filter,
    build_group_filter,
    build_topic_filter,
)
from mm2.core.plugin import held, hold, release
from mm2.core.policy import build_policy
from mm2.core.user_objects import load_callable
from mm2.errors import ConfigError


class HeldClasses:
    """
    Holds the objects of configurations that somebody works with: everybody gets the same ones.

    Each connector has a configuration of its own, as in Java.
    """

    def __init__(self, *configs: FlowConfig) -> None:
        self._held: list[Mapping[str, str]] = []
        self.take(*configs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.take()

    def take(self, *configs: FlowConfig) -> None:
        """Holds those of these configurations from now on, and no others; waits for nothing."""
        before, self._held = self._held, [part for config in configs for part in _parts(config)]
        for part in self._held:
            hold(part)
        for part in before:
            release(part)


def _parts(config: FlowConfig) -> Iterator[Mapping[str, str]]:
    """The properties of all connectors of a flow, and of the one that leads its groups back."""
    for each in (config.source, config.checkpoint, config.heartbeat):
        yield each.properties
    if config.reverse is not None:
        yield from _parts(config.reverse)


def class_problem(config: FlowConfig) -> ConfigError | None:
    """
    Makes policy and filters of a flow once; says what is wrong with the first that cannot be made.

    The configuration's own checks load no code, because they also run where the flow does not. It
    may take seconds, so that an event loop asks in another thread.
    """
    parts = (config.source.properties, config.checkpoint.properties)
    with HeldClasses(config):
        return next((mistake for part in parts for mistake in class_mistakes(part)), None)


def class_mistakes(properties: Mapping[str, str]) -> Iterator[ConfigError]:
    """Makes the policy and filters that a connector's properties name; says what cannot be made."""
    with held(properties):
        for build in (
            build_policy,
            build_topic_filter,
            build_group_filter,
            build_config_property_filter,
            _load_handler,
            _try_function,
        ):
            try:
                build(properties)
            except ConfigError as error:
                yield error


def _load_handler(properties: Mapping[str, str]) -> None:
    if path := properties.get(HANDLER, "").strip():
        load_callable(path, HANDLER, method="handle")


def _try_function(properties: Mapping[str, str]) -> None:
    if path := properties.get(ARROW_FUNCTION, "").strip():
        # Arrow takes half a second to import, and few flows need it.
        from mm2.core.transforms.arrow_function import try_function  # noqa: PLC0415

        try_function(path, properties.get("arrow.function.args", ""), ARROW_FUNCTION)


async def loading_problem(config: FlowConfig) -> ConfigError | None:
    """As ``class_problem``, in another thread where there is code to be loaded that is not ours."""
    if names_foreign(config):
        return await asyncio.to_thread(class_problem, config)
    return class_problem(config)


async def load_classes(config: FlowConfig) -> None:
    """
    Loads the classes of a flow, which its event loop then does not wait for.

    Raises:
        ConfigError: one of them cannot be had.
    """
    if problem := await loading_problem(config):
        raise problem
