"""How many bundles Spark runs at the same time, as its master says."""

from __future__ import annotations

import re
from typing import Final

_LOCAL: Final = re.compile(r"local(?:\[\s*([0-9]+|\*)\s*(?:,\s*[0-9]+\s*)?\])?")


def with_cores(master: str, cores: int) -> str:
    """
    A ``spark.master`` that names the number of cores where it leaves that to the machine.

    Args:
        master: as the user has it.
        cores: of this machine.
    """
    return master.replace("*", str(cores)) if _LOCAL.fullmatch(master) else master


def slots_of(master: str, task_cpus: str = "1") -> int | None:
    """
    The slots of a Spark that runs in one JVM.

    Args:
        master: ``spark.master``.
        task_cpus: ``spark.task.cpus``; what is no number is for Spark to refuse.

    Returns:
        None where the machine decides, or other machines add theirs over time.
    """
    found = _LOCAL.fullmatch(master)
    if found is None or found[1] == "*":
        return None
    cpus = int(task_cpus) if task_cpus.isdecimal() else 1
    return int(found[1] or 1) // max(1, cpus)


def most_bundles(wanted: int, own: int, room: int | None) -> int:
    """
    How many bundles a flow may have, so that none waits for a slot in vain; one at least.

    Args:
        wanted: ``tasks.max``.
        own: bundles that it has already.
        room: free slots; None if there is no end to them.
    """
    return wanted if room is None else max(1, min(wanted, own + room))
