"""What may cross the network between a driver and its executors, and what users are warned of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import structlog

from flows.spark.settings import IN_CLEAR, is_open_on_purpose, is_protected, lets_anybody_in
from flows.spark.spark_job import JobFailed

log = structlog.get_logger()


@dataclass(slots=True)
class NetworkChecks:
    """Those of one application; each warning is logged once."""

    settings: Mapping[str, str]
    _warned: set[str] = field(default_factory=set)

    def check_passwords(self, keys: Collection[str]) -> None:
        """
        Keeps passwords from crossing the network in clear, unless the user wants just that.

        Raises:
            JobFailed: they would.
        """
        if not keys or is_protected(self.settings):
            return
        if not is_open_on_purpose(self.settings):
            raise JobFailed(f"{', '.join(sorted(keys))}: {IN_CLEAR}")
        if self._is_first("passwords"):
            log.warning("spark.not_encrypted", keys=sorted(keys))

    def warn_if_open(self) -> None:
        """Warns where anybody may have driver and executors run something."""
        if lets_anybody_in(self.settings) and self._is_first("openness"):
            log.warning("spark.not_authenticated", master=self.settings["spark.master"])

    def _is_first(self, warning: str) -> bool:
        is_first = warning not in self._warned
        self._warned.add(warning)
        return is_first
