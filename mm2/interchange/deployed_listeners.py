"""Where a deployed node listens: for clients, and for probes, which have no login."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final

from mm2.config.keys.keys_top import METRICS_LISTENERS
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.rest_settings import LISTENERS, Listener, rest_of_file

_FIRST_PORT: Final = 9404
"""For probes where REST asks for a login: the usual port of exporters, or the next that is free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedListeners:
    """
    Listeners that others than the machine itself can reach.

    Attributes:
        rest: the first of the REST interface.
        metrics: the first of those that answer metrics and health alone, without a login.
        rest_asks_for_login: whether probes without a name and a password are refused there.
        has_metrics: whether the listeners answer with metrics.
        added: properties that the file does not have.
    """

    rest: Listener | None = None
    metrics: Listener | None = None
    rest_asks_for_login: bool = False
    has_metrics: bool = False
    added: Mapping[str, str]

    @property
    def probed(self) -> Listener | None:
        """Where to ask for health over plain HTTP; None if no listener answers it."""
        rest = None if self.rest_asks_for_login else self.rest
        return next((each for each in (self.metrics, rest) if each and each.scheme == "http"), None)

    @property
    def scraped(self) -> Listener | None:
        """Where metrics are to be had without a login; None if nowhere."""
        rest = None if self.rest_asks_for_login else self.rest
        return (self.metrics or rest) if self.has_metrics else None

    @property
    def probed_port(self) -> str:
        """The name of that listener's port."""
        return "metrics" if self.probed is self.metrics else "rest"


def deployed_listeners(maker: MirrorMakerConfig, *, opens: bool) -> DeployedListeners:
    """
    The listeners of a mirror's file, and those that probes need beside them.

    Args:
        opens: whether listeners are added that probes from outside can reach.

    Raises:
        ConfigErrors: REST settings of the file are wrong.
    """
    settings = rest_of_file(maker)
    if settings is None:
        return DeployedListeners(added={})
    added: dict[str, str] = {}
    rest = next((each for each in settings.listeners if not each.is_local), None)
    if settings.by_default and opens:
        rest = Listener("http", "", settings.listeners[0].port)
        added[LISTENERS] = str(rest)
    metrics = next((each for each in settings.metrics_listeners if not each.is_local), None)
    asks = settings.passwords_file is not None
    if opens and metrics is None and rest and rest.scheme == "http" and asks:
        used = {each.port for each in (*settings.listeners, *settings.metrics_listeners)}
        metrics = Listener("http", "", next(at for at in count(_FIRST_PORT) if at not in used))
        added[METRICS_LISTENERS] = ", ".join(map(str, (*settings.metrics_listeners, metrics)))
    return DeployedListeners(
        rest=rest,
        metrics=metrics,
        rest_asks_for_login=asks,
        has_metrics=settings.metrics.enabled,
        added=added,
    )
