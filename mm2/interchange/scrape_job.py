"""Where Prometheus finds the metrics of a mirror's nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.rest_settings import rest_of_file

_ANY: Final = {"", "0.0.0.0", "::"}  # noqa: S104 - compared, not bound


@dataclass(frozen=True, slots=True)
class ScrapeJob:
    """
    How one node is scraped.

    Attributes:
        host: a name that nodes may have where the file does not say it.
    """

    scheme: str
    host: str
    port: int
    asks_for_login: bool

    @property
    def address(self) -> str:
        """What Prometheus calls a target."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def scrape_job(maker: MirrorMakerConfig, name: str) -> ScrapeJob | None:
    """
    Of the listeners that answer, one for metrics alone, or else one that others can reach.

    Args:
        name: of the mirror.

    Returns:
        None if no listener answers with metrics.

    Raises:
        ConfigErrors: REST settings of the file are wrong.
    """
    rest = rest_of_file(maker)
    if rest is None or not rest.metrics.enabled:
        return None
    known = [(each, False) for each in rest.metrics_listeners]
    known += [(each, rest.passwords_file is not None) for each in rest.listeners]
    listener, asks = next((each for each in known if not each[0].is_local), known[0])
    host = (rest.advertised_host or name) if listener.host in _ANY else listener.host
    return ScrapeJob(listener.scheme, host, listener.port, asks)
