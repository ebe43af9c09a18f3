"""
Settings of a flow over those of its file, checked with the same code as the file.

A key is written without ``A->B.``; one of the worker on the target, as
``offset.flush.interval.ms``, without ``B.``. What is altered counts for this flow alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mm2.config.checks.allowed_classes import foreign_classes
from mm2.config.checks.client_override_policy import ALLOWLIST_KEY, POLICY_KEY
from mm2.config.checks.findings import Finding, Severity, findings
from mm2.config.checks.key_lint import is_of_worker
from mm2.config.credentials import is_of_connection
from mm2.config.flow_config import FlowConfig, flow_config
from mm2.config.keys.effects import Effect, Effects
from mm2.config.keys.key_aliases import canonical_key
from mm2.config.keys.key_types import java_trim
from mm2.config.keys.keys_top import REST_PROVIDERS
from mm2.config.live_changes import effects_in_connector, effects_in_worker, is_of_process
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.text.expressions import RESOLVED, expressions
from mm2.config.text.properties import PropertiesFile
from mm2.config.text.redact import shown
from mm2.core.model import SourceAndTarget
from mm2.errors import ConfigError, ConfigErrors

_PROVIDERS: Final = "config.providers"
_MOST_CHARACTERS: Final = 32 * 1024
"""Of an altered value: patterns in it are compiled on the event loop."""

Changes = Mapping[str, str | None]
"""New values by key; None counts as if the file had not got the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedOverrides:
    """
    What is left of alterations in view of a file.

    Attributes:
        config: the flow with those that fit.
        ignored: why the others do not, by key.
        refused: of these, classes that the file does not allow. A flow is not to run without what
            they might leave out.
    """

    config: FlowConfig
    ignored: Mapping[str, str]
    refused: tuple[ConfigError, ...] = ()


def file_key(flow: SourceAndTarget, key: str) -> str:
    """The key of a file that an altered key stands for."""
    return f"{flow.target}.{key}" if is_of_worker(key) else f"{flow}.{key}"


def effects_of_key(key: str) -> Effects:
    """What follows when a key is altered, in whatever spelling."""
    if is_of_worker(key):
        return effects_in_worker(key)
    read = canonical_key(key)
    return frozenset({Effect.NONE}) if read is None else effects_in_connector(read)


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
    The flow of a file with other settings, if nothing is wrong or doubtful about them.

    Returns:
        The flow, and a sentence for each older spelling that is read.

    Raises:
        ConfigErrors: everything that would be wrong and is not so without the changes; keys without
            effect, and keys that cannot be altered.
    """
    fixed = _not_taken(config, changes)
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
    fixed = _not_taken(config, changes)
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
                wanted = [key for key in left if canonical_key(key) == each.key] or list(left)
                ignored |= dict.fromkeys(wanted, str(each))
                left = {key: value for key, value in left.items() if key not in wanted}
        except ConfigErrors as errors:
            told = {problem.key: str(problem) for problem in errors.problems}
            wrong = {key for key in left if file_key(config.flow, key) in told} or set(left)
            for key in wrong:
                del left[key]
                ignored[key] = told.get(file_key(config.flow, key), str(errors))


def _foreign(config: FlowConfig, after: FlowConfig) -> list[ConfigError]:
    """Classes that an alteration names, and may not."""
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
    return MirrorMakerConfig(raw=raw, lines=lines, environment=maker.environment)


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
    """What the changes bring about; a file may have doubtful keys of its own."""
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


def _not_taken(config: FlowConfig, changes: Changes) -> dict[str, ConfigError]:
    """What cannot be altered whatever else is written, by key."""
    return {
        key: problem
        for key, value in changes.items()
        if (
            problem := _fixed(config.flow, key)
            or _too_long(key, value)
            or _reads_secrets(config, key, value)
        )
    }


def _too_long(key: str, value: str | None) -> ConfigError | None:
    """A list of patterns that would take seconds to compile; a file may have longer ones."""
    if value is None or len(value) <= _MOST_CHARACTERS:
        return None
    message = (
        f"{key} has {len(value)} characters, and at most {_MOST_CHARACTERS} are taken: write"
        " patterns that stand for many names, such as orders.*, or change the file"
    )
    return ConfigError(message, key=key)


def _reads_secrets(config: FlowConfig, key: str, value: str | None) -> ConfigError | None:
    """
    A new expression of a config provider, which could show a secret under a key that is not one.

    The file's own value of a key may come back; and the file may take all of them.
    """
    name = file_key(config.flow, key)
    if value is None or next(expressions(value), None) is None:
        return None
    file = {} if config.maker is None else config.maker.raw
    takes_all = java_trim(file.get(REST_PROVIDERS, "")).lower() == "true"
    if takes_all or value in {file.get(name), file.get(key)}:
        return None
    message = (
        f"{key} = {shown(key, value)}: expressions of config providers are taken from the file"
        f" alone: write the value, change the file, or have the file say {REST_PROVIDERS} = true"
    )
    return ConfigError(message, key=name)


def _fixed(flow: SourceAndTarget, key: str) -> ConfigError | None:
    name = file_key(flow, key)
    if is_of_process(key):
        message = f"{key} belongs to the process: change the file, and start the process again"
    elif Effect.FIXED in effects_of_key(key):
        message = f"{key} says which flow this is, and cannot be altered"
    elif is_of_connection(key):
        message = f"{key} says where to connect or how to log in: change the file, and send SIGHUP"
    elif key.startswith(_PROVIDERS):
        message = f"{key} says how secrets are read: change the file, and send SIGHUP"
    elif key in {POLICY_KEY, ALLOWLIST_KEY}:
        message = f"{key} says what may be altered: change the file, and send SIGHUP"
    else:
        return None
    return ConfigError(message, key=name)
