"""How many bundles Spark runs at the same time, as its master says, and who may have them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

_LOCAL: Final = re.compile(r"local(?:\[\s*([0-9]+|\*)\s*(?:,\s*[0-9]+\s*)?\])?")

DEFAULT_MASTER: Final = "local[1024,1]"
"""Slots cannot be added to a running local Spark, and cost nothing; tasks.max may be raised."""

_MOST_CORES: Final = "spark.cores.max"
_MOST_EXECUTORS: Final = "spark.dynamicAllocation.maxExecutors"
_ON_DEMAND: Final = "spark.dynamicAllocation.enabled"
_EXECUTORS: Final = "spark.executor.instances"
_GIVE_SO_MANY: Final = ("yarn", "k8s:")
"""Clusters that obey it; a standalone master gives all cores."""

_TASK_CPUS: Final = "spark.task.cpus"

FlowT = TypeVar("FlowT", bound=Hashable)


def with_cores(master: str, cores: int) -> str:
    """A ``spark.master`` that names the number of cores where it leaves that to the machine."""
    return master.replace("*", str(cores)) if has_a_slot_per_core(master) else master


def has_a_slot_per_core(master: str) -> bool:
    """Whether a ``spark.master`` has as many slots as the machine has cores."""
    found = _LOCAL.fullmatch(master)
    return found is not None and found[1] == "*"


def is_in_process(master: str) -> bool:
    """Whether the tasks of a ``spark.master`` run on this machine, in the JVM of the driver."""
    return _LOCAL.fullmatch(master) is not None


def slots_of(master: str, task_cpus: str = "1") -> int | None:
    """
    The slots of a Spark that runs in one JVM.

    Args:
        task_cpus: ``spark.task.cpus``; what is no number is for Spark to refuse.

    Returns:
        None where the machine decides, or other machines add theirs over time.
    """
    found = _LOCAL.fullmatch(master)
    if found is None or found[1] == "*":
        return None
    cpus = int(task_cpus) if task_cpus.isdecimal() else 1
    return int(found[1] or 1) // max(1, cpus)


@dataclass(frozen=True, slots=True)
class SlotLimit:
    """
    The slots that an application has on a cluster at most, by its own settings.

    Attributes:
        count: so many.
        key: of the setting that says so.
    """

    count: int
    key: str


def slot_limit(settings: Mapping[str, str]) -> SlotLimit | None:
    """
    The lowest of what ``spark.cores.max`` and the number of executors allow.

    Args:
        settings: of Spark; what is no number is for Spark to refuse.
    """
    of_executor, of_task = (
        max(1, int(value)) if value.isdecimal() else 1
        for value in (settings.get("spark.executor.cores", "1"), settings.get(_TASK_CPUS, "1"))
    )
    found = {}
    if (cores := settings.get(_MOST_CORES, "")).isdecimal():
        found[_MOST_CORES] = int(cores) // of_executor
    key = _most_executors(settings)
    if key is not None and settings.get(key, "").isdecimal():
        found[key] = int(settings[key])
    limits = [SlotLimit(most * (of_executor // of_task), key) for key, most in found.items()]
    return min(limits, key=lambda each: each.count, default=None)


def is_on_demand(settings: Mapping[str, str]) -> bool:
    """
    Whether a cluster gives executors as jobs need them, which is our default.

    Args:
        settings: of Spark, with our defaults or without.
    """
    by_default = "false" if _EXECUTORS in settings else "true"
    return settings.get(_ON_DEMAND, by_default) == "true"


def _most_executors(settings: Mapping[str, str]) -> str | None:
    """The setting that says how many executors there are at most, if one does."""
    if is_on_demand(settings):
        return _MOST_EXECUTORS
    gives_so_many = settings.get("spark.master", "").startswith(_GIVE_SO_MANY)
    return _EXECUTORS if gives_so_many else None


def fair_shares(
    slots: int, requested: Mapping[FlowT, int], held: Mapping[FlowT, int] | None = None
) -> dict[FlowT, int]:
    """
    Divides slots among flows: all that is wanted if there are enough, or else evenly.

    What one does not want goes to the others, and what cannot be divided to those that have it
    already, or else to those that came first.

    Args:
        requested: how many each flow can use, in the order in which they came.
    """
    held = held or {}
    level = max(
        each
        for each in range(min(slots, max(requested.values(), default=0)) + 1)
        if sum(min(number, each) for number in requested.values()) <= slots
    )
    shares = {flow: min(number, level) for flow, number in requested.items()}
    spare = slots - sum(shares.values())
    hungry = [flow for flow, number in requested.items() if number > level]
    for flow in sorted(hungry, key=lambda each: held.get(each, 0) <= level)[:spare]:
        shares[flow] += 1
    return shares


class SlotLedger:
    """
    Which flow may have how many slots, and which bundles have them.

    Shares change at once when flows come and go, but not where others would be as even; a flow that
    has more than its share gives slots back when its bundles have drained. Until then others that
    may have them wait: at no time do more bundles hold a slot than there are, and no flow takes one
    that is another's share.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._requested: dict[Hashable, int] = {}
        self._shares: dict[Hashable, int] = {}
        self._held: set[tuple[Hashable, int]] = set()

    def request(self, flow: Hashable, bundles: int) -> set[Hashable]:
        """
        Has a flow take part in the division, or go on with another number.

        Args:
            bundles: how many it can use; with 0 it takes no part, and comes last when it does.

        Returns:
            The other flows whose share has changed by this.
        """
        if bundles == 0:
            return self.leave(flow)
        self._requested[flow] = bundles
        return self._divide() - {flow}

    def leave(self, flow: Hashable) -> set[Hashable]:
        """
        Takes a flow out of the division; its bundles keep their slots until they give them back.

        Returns:
            The other flows whose share has changed by this.
        """
        self._requested.pop(flow, None)
        return self._divide() - {flow}

    @property
    def wanted(self) -> int:
        """How many slots all flows together can use."""
        return sum(self._requested.values())

    def resize(self, slots: int) -> set[Hashable]:
        """
        Goes on with another number of slots.

        Returns:
            The flows whose share has changed by this.
        """
        self._slots = slots
        return self._divide()

    def share(self, flow: Hashable) -> int:
        """How many slots a flow may have; 0 if it takes no part."""
        return self._shares.get(flow, 0)

    def take(self, flow: Hashable, bundle: int) -> bool:
        """Gives a bundle a slot, if there is one for its flow; says whether it has one now."""
        is_free = len(self._held) < self._slots
        if is_free and sum(each == flow for each, _ in self._held) < self.share(flow):
            self._held.add((flow, bundle))
        return (flow, bundle) in self._held

    def give(self, flow: Hashable, bundle: int) -> None:
        """Takes back the slot of a bundle that has ended, if it has one."""
        self._held.discard((flow, bundle))

    def _divide(self) -> set[Hashable]:
        held = Counter(flow for flow, _ in self._held)
        before, self._shares = self._shares, fair_shares(self._slots, self._requested, held)
        return {flow for flow, share in self._shares.items() if before.get(flow) != share}
