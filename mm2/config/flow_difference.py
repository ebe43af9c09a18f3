"""What is different between two configurations of one flow, and what that takes."""

from __future__ import annotations

from dataclasses import dataclass

from mm2.config.connector_settings import SourceSettings
from mm2.config.flow_settings import FlowConfig
from mm2.config.keys.effects import Effect, Effects
from mm2.config.keys.key_aliases import canonical_key
from mm2.config.live_changes import changed_keys, effects_of, is_of_process


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowChange:
    """
    The difference.

    Attributes:
        keys: whose values differ, as connectors and worker see them; sorted.
        of_process: those of them that only a new start of the process reads.
        effects: what follows for a flow that runs; empty if nothing does.
    """

    keys: tuple[str, ...]
    of_process: tuple[str, ...]
    effects: Effects


def change_between(before: FlowConfig, after: FlowConfig) -> FlowChange:
    """What a flow has to do when its configuration changes."""
    connector = changed_keys(before.source.properties, after.source.properties)
    worker = changed_keys(before.worker, after.worker)
    process = _of_process(before, after)
    # A spelling changes the key that it is read as, if it counts; by itself it changes nothing.
    read = [key for key in connector if canonical_key(key) == key]
    effects = set(effects_of(read, worker))
    if process:
        effects.add(Effect.PROCESS)
    if _way_back(before) != _way_back(after):
        effects.add(Effect.CHECKPOINTS)
    if before.source.runs != after.source.runs:
        effects.add(Effect.FLOW)
    keys = tuple(sorted({*connector, *worker, *process}))
    return FlowChange(keys=keys, of_process=tuple(process), effects=frozenset(effects))


def _way_back(config: FlowConfig) -> SourceSettings | None:
    """What checkpoints read of the opposite flow."""
    return None if config.reverse is None else config.reverse.source


def _of_process(before: FlowConfig, after: FlowConfig) -> list[str]:
    """Changed keys that only a new start of the process reads."""
    changed = changed_keys(before.spark, after.spark)
    if before.maker is not None and after.maker is not None:
        raw = changed_keys(before.maker.raw, after.maker.raw)
        changed += [key for key in raw if is_of_process(key) and key not in changed]
    return sorted(changed)
