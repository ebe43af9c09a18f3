"""What an alteration of a flow comes to, before anything of it is written."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from mm2.config.flow_config import FlowConfig
from mm2.config.keys.effects import Effect
from mm2.config.live_changes import FlowChange, change_between
from mm2.config.overrides import Changes, apply_valid_overrides, check
from mm2.core.balancing.spark_slots import DEFAULT_MASTER, has_a_slot_per_core, slots_of
from mm2.errors import ConfigError, ConfigErrors
from mm2.herder.flow_classes import class_problem
from mm2.protocol.command_records import Alterations


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """
    What came, or would come, of a change of settings.

    Attributes:
        alterations: everything over the file from now on.
        config: the flow as it is then.
        change: the difference, and what the flow does about it.
        notes: what is worth knowing: older spellings that are read, tasks without a slot.
    """

    alterations: Alterations
    config: FlowConfig
    change: FlowChange
    notes: tuple[str, ...]


def alteration(
    config: FlowConfig, earlier: Changes, changes: Changes, reset: Collection[str]
) -> Alteration:
    """
    Lays settings over those that are altered already.

    Args:
        config: the flow, as its file has it.
        earlier: what is altered.
        changes: new values by key; None counts as if the file had not got the key.
        reset: keys that are to be as in the file again.

    Raises:
        ConfigErrors: everything that would be wrong with the flow.
    """
    unknown = [key for key in reset if key not in earlier]
    if unknown:
        raise ConfigErrors([_not_altered(key) for key in unknown])
    kept = {key: value for key, value in earlier.items() if key not in {*reset, *changes}}
    before = apply_valid_overrides(config, earlier).config
    # What an earlier alteration has become wrong about must not stand in the way of this one.
    base = apply_valid_overrides(config, kept)
    fitting = {key: value for key, value in kept.items() if key not in base.ignored}
    after, notes = check(config, {**fitting, **changes})
    if wrong := class_problem(after):
        raise ConfigErrors([wrong])
    change = change_between(before, after)
    return Alteration(
        alterations=Alterations(changes={**kept, **changes}, time_ms=time.time_ns() // 1_000_000),
        config=after,
        change=change,
        notes=(*notes, *_narrow(after, change)),
    )


def _narrow(config: FlowConfig, change: FlowChange) -> Iterator[str]:
    """Says that Spark, as the file has it, may not run so many tasks at the same time."""
    if Effect.SHARES not in change.effects:
        return
    master, tasks = config.spark.get("spark.master", DEFAULT_MASTER), config.source.tasks_max
    slots = slots_of(master, config.spark.get("spark.task.cpus", "1"))
    if slots is not None and slots < tasks:
        yield (
            f"spark.master = {master} runs {slots} tasks of all flows at the same time: the flow"
            f" gets no {tasks} until the process is started with more"
        )
    if has_a_slot_per_core(master) and tasks > 1:
        yield (
            f"spark.master = {master} runs as many tasks of all flows at the same time as the node"
            f" has cores: the flow gets {tasks} only where there are so many"
        )


def _not_altered(key: str) -> ConfigError:
    return ConfigError(f"{key} is not altered, so there is nothing to reset", key=key)
