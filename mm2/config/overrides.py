"""
From a flow's file to its effective configuration: settings over those of the file.

They are checked with the same code as the file. A key is written without ``A->B.``; one of the
worker on the target, as ``offset.flush.interval.ms``, without ``B.``. What is altered counts for
this flow alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from mm2.clock import now_ms
from mm2.config.checks.allowed_classes import foreign_classes
from mm2.config.checks.alterable_keys import file_key, fixed_keys
from mm2.config.checks.findings import Finding, Severity, findings
from mm2.config.checks.long_values import CHANGE_FILE, too_long
from mm2.config.flow_config import FlowConfig, flow_config
from mm2.config.keys.effects import Effect
from mm2.config.keys.key_aliases import canonical_key
from mm2.config.live_changes import FlowChange, change_between
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.text.expressions import RESOLVED
from mm2.config.text.properties import PropertiesFile
from mm2.core.balancing.spark_slots import (
    DEFAULT_MASTER,
    has_a_slot_per_core,
    is_in_process,
    slot_limit,
    slots_of,
)
from mm2.core.model import SourceAndTarget
from mm2.errors import ConfigError, ConfigErrors

Changes = Mapping[str, str | None]
"""New values by key; None counts as if the file had not got the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedOverrides:
    """
    What is left of alterations in view of a file.

    Attributes:
        ignored: why changes that do not fit are left out, by key.
        refused: of these, classes that the file does not allow. A flow is not to run without what
            they might leave out.
    """

    config: FlowConfig
    ignored: Mapping[str, str]
    refused: tuple[ConfigError, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """
    What came, or would come, of a change of settings.

    Attributes:
        overrides: everything over the file from now on.
        config: the flow as it is then.
        notes: what is worth knowing: older spellings that are read, tasks without a slot.
    """

    overrides: Changes
    time_ms: int
    config: FlowConfig
    change: FlowChange
    notes: tuple[str, ...]


def apply_overrides(config: FlowConfig, changes: Changes) -> FlowConfig:
    """
    The flow of a file with other settings.

    Raises:
        ConfigErrors: values that cannot be read, as of a file.
    """
    if not changes:
        return config
    return flow_config(_altered(_maker_of(config), config.flow, changes), config.flow)


def check(config: FlowConfig, changes: Changes) -> tuple[FlowConfig, list[str]]:
    """
    The flow of a file with other settings, if nothing is wrong or suspicious about them.

    Returns:
        The flow, and a sentence for each older spelling that is read.

    Raises:
        ConfigErrors: everything that would be wrong and is not so without the changes; keys without
            effect, and keys that cannot be altered.
    """
    fixed = fixed_keys(config, changes)
    fixed |= too_long({k: v for k, v in changes.items() if k not in fixed}, CHANGE_FILE)
    # Nothing is looked up for what is not taken anyway.
    left = {key: value for key, value in changes.items() if key not in fixed}
    found = _new_findings(config, left)
    problems = [fixed[key] for key in sorted(fixed)]
    problems += [each.problem for each in found if each.severity is not Severity.NOTE]
    if problems:
        raise ConfigErrors(problems)
    notes = [str(each.problem) for each in found]
    after = apply_overrides(config, changes)
    if foreign := _foreign(config, after):
        raise ConfigErrors(foreign)
    return after, notes


def apply_valid_overrides(config: FlowConfig, changes: Changes) -> AppliedOverrides:
    """
    The flow with those changes that its file, which may be another by now, lets stand.

    Never raises for what is in the changes: a flow that ran goes on. They come from a topic, and
    whoever wrote them there need not have asked ``check``.
    """
    fixed = fixed_keys(config, changes)
    left = {key: value for key, value in changes.items() if key not in fixed}
    ignored = {key: str(problem) for key, problem in fixed.items()}
    refused: list[ConfigError] = []
    while True:
        try:
            found = apply_overrides(config, left)
            if not (foreign := _foreign(config, found)):
                return AppliedOverrides(config=found, ignored=ignored, refused=tuple(refused))
            refused += foreign
            for each in foreign:
                named = [key for key in left if canonical_key(key) == each.key] or list(left)
                ignored |= dict.fromkeys(named, str(each))
                left = {key: value for key, value in left.items() if key not in named}
        except ConfigErrors as errors:
            reasons = {problem.key: str(problem) for problem in errors.problems}
            wrong = {key for key in left if file_key(config.flow, key) in reasons} or set(left)
            for key in wrong:
                del left[key]
                ignored[key] = reasons.get(file_key(config.flow, key), str(errors))


def alteration(
    config: FlowConfig, earlier: Changes, changes: Changes, reset: Collection[str]
) -> Alteration:
    """
    Lays settings over those that are altered already.

    Args:
        config: the flow, as its file has it.
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
    change = change_between(before, after)
    return Alteration(
        overrides={**kept, **changes},
        time_ms=now_ms(),
        config=after,
        change=change,
        notes=(*notes, *_narrow(after, change)),
    )


def _foreign(config: FlowConfig, after: FlowConfig) -> list[ConfigError]:
    if after is config:
        return []
    return list(foreign_classes(after, config.source.properties, _maker_of(config).originals))


def _maker_of(config: FlowConfig) -> MirrorMakerConfig:
    if config.maker is None:
        message = f"flow {config.flow} does not come from a file: change it where it was configured"
        raise ConfigErrors([ConfigError(message)])
    return config.maker


def _altered(
    maker: MirrorMakerConfig, flow: SourceAndTarget, changes: Changes
) -> MirrorMakerConfig:
    names = {file_key(flow, key) for key in changes}
    lines = {name: line for name, line in maker.lines.items() if name not in names}
    raw = _raw(maker, flow, changes)
    return MirrorMakerConfig(
        raw=raw, lines=lines, environment=maker.environment, answers=maker.answers
    )


def _raw(maker: MirrorMakerConfig, flow: SourceAndTarget, changes: Changes) -> dict[str, str]:
    """The keys of the file with the changes, whose expressions show nobody what they stand for."""
    raw = dict(maker.raw)
    for key, value in changes.items():
        raw.pop(file_key(flow, key), None)
        if value is not None:
            RESOLVED.suspect(value)
            raw[file_key(flow, key)] = value
    return raw


def _new_findings(config: FlowConfig, changes: Changes) -> list[Finding]:
    """What the changes bring about; a file may have suspicious keys of its own."""
    maker = _maker_of(config)
    before = {
        (each.problem.key, each.problem.message)
        for each in findings(PropertiesFile(values=maker.raw), maker.environment)
    }
    raw = _raw(maker, config.flow, changes)
    return [
        each
        for each in findings(PropertiesFile(values=raw), maker.environment)
        if (each.problem.key, each.problem.message) not in before
    ]


def _narrow(config: FlowConfig, change: FlowChange) -> Iterator[str]:
    """Says that Spark, as the file has it, may not run so many tasks at the same time."""
    master, tasks = config.spark.get("spark.master", DEFAULT_MASTER), config.source.tasks_max
    if Effect.SHARES not in change.effects or tasks is None:
        return
    slots = slots_of(master, config.spark.get("spark.task.cpus", "1"))
    if slots is not None and slots < tasks:
        yield (
            f"spark.master = {master} runs {slots} tasks of all flows at the same time: the flow"
            f" gets no {tasks} until the process is started with more"
        )
    limit = None if is_in_process(master) else slot_limit(config.spark)
    if limit is not None and limit.count < tasks:
        yield (
            f"{limit.key} = {config.spark[limit.key]} gives {limit.count} tasks of all flows at the"
            f" same time: the flow gets no {tasks} until the process is started with more"
        )
    if has_a_slot_per_core(master) and tasks > 1:
        yield (
            f"spark.master = {master} runs as many tasks of all flows at the same time as the node"
            f" has cores: the flow gets {tasks} only where there are so many"
        )


def _not_altered(key: str) -> ConfigError:
    return ConfigError(f"{key} is not altered, so there is nothing to reset", key=key)
