"""Speaks for an instance in the group that decides who leads which log partition."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from mm2.core.offset_manager.ensemble import Ensemble, Instance, JoiningInstance, decide
from mm2.protocol.ensemble_records import (
    decode_ensemble,
    decode_joining,
    encode_ensemble,
    encode_joining,
)

_PROTOCOL: Final = "mm2-offset-manager"


class LogVoter:
    """
    What ``Membership`` asks of an instance.

    Args:
        instance: this one.
        partitions: of the log.
        leads: the log partitions that it leads now.
        brokers: numbers of the cluster's brokers.
        decided: hears of each decision.
    """

    name = _PROTOCOL

    def __init__(
        self,
        instance: Instance,
        *,
        partitions: int,
        leads: Callable[[], frozenset[int]],
        brokers: Collection[int],
        decided: Callable[[Ensemble], None],
    ) -> None:
        self._instance = instance
        self._partitions = partitions
        self._leads = leads
        self._brokers = brokers
        self._decided = decided

    def subscription_user_data(self) -> bytes:
        """Who this instance is, and what it leads."""
        return encode_joining(JoiningInstance(instance=self._instance, leads=self._leads()))

    def decide(self, said: Mapping[str, bytes]) -> tuple[str, bytes]:
        """Gives each log partition a leader."""
        members = {each: found for each, data in said.items() if (found := decode_joining(data))}
        mine = JoiningInstance(instance=self._instance, leads=self._leads())
        made = decide(list(members.values()) or [mine], self._partitions, self._brokers)
        return next(iter(said)), encode_ensemble(made)

    def decided(self, decision: bytes) -> None:
        """Passes on who leads what."""
        if found := decode_ensemble(decision):
            self._decided(found)
