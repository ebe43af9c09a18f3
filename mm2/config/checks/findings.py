"""
Finds everything that is wrong or doubtful in one file, all at once, for ``mm2 config validate``.

Errors are what would stop Java or us. Warnings are keys without effect, which Java passes over in
silence and which are nearly always a slip. Notes are older spellings that we read.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from mm2.config.checks.key_lint import KeyHint, classify_key
from mm2.config.checks.suspicious_settings import aliases, suspicious_flows, suspicious_text
from mm2.config.flow_config import FlowConfig, FlowReader
from mm2.config.keys.definition import Key, by_line
from mm2.config.keys.key_types import lenient_boolean
from mm2.config.keys.keys_mm2 import SQL
from mm2.config.layers import Setting, with_line, with_written_key
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.rest_settings import rest_of_file
from mm2.config.text.properties import PropertiesFile
from mm2.config.text.redact import as_written, shown
from mm2.core.model import SourceAndTarget
from mm2.errors import ConfigError, ConfigErrors


class Severity(enum.Enum):
    """How much a finding matters."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing found; ``of_flow`` if it is of ``FlowConfig.unread_keys``, logged at a start."""

    severity: Severity
    problem: ConfigError
    of_flow: bool = False


def findings(file: PropertiesFile, environment: Mapping[str, str] | None = None) -> list[Finding]:
    """Everything found in a file, in the order of its lines."""
    try:
        maker = MirrorMakerConfig.of(file, environment)
    except ConfigErrors as errors:
        found = _errors(errors)
    else:
        found = _of_maker(maker)
    text = [_finding(Severity.WARNING, unread) for unread in suspicious_text(file)]
    odd = {each.problem.key for each in text}
    about_keys = [each for each in _about_keys(file, aliases(file)) if each.problem.key not in odd]
    return in_order([*found, *text, *about_keys], file)


def _of_maker(maker: MirrorMakerConfig) -> list[Finding]:
    found: list[Finding] = []
    good: list[FlowConfig] = []
    try:
        rest_of_file(maker)
    except ConfigErrors as errors:
        found += _errors(errors)
    flows = maker.cluster_pairs()
    reader = FlowReader(maker)
    if not flows:
        message = "No source->target replication flows: enable one, for example A->B.enabled = true"
        found.append(_finding(Severity.ERROR, ConfigError(message, key="clusters")))
    for flow in flows:
        try:
            settings = reader.read(flow)
        except ConfigErrors as errors:
            found += _errors(errors)
        else:
            good.append(settings)
            found += _of_flow(settings)
    found += [_finding(Severity.WARNING, unread) for unread in suspicious_flows(maker, good)]
    return found


def _of_flow(settings: FlowConfig) -> Iterator[Finding]:
    flow = settings.flow
    if settings.source.enabled:
        yield from _refusals(flow, Severity.WARNING, "source", settings.source.refusals)
        yield from _unchecked(flow, settings.source.transforms.sql)
    yield from _refusals(flow, Severity.NOTE, "checkpoint", settings.checkpoint.refusals)
    for unread in settings.unread_keys:
        yield Finding(severity=Severity.WARNING, problem=unread, of_flow=True)


def _errors(errors: ConfigErrors) -> list[Finding]:
    return [_finding(Severity.ERROR, problem) for problem in errors.problems]


def _finding(severity: Severity, problem: ConfigError) -> Finding:
    return Finding(severity=severity, problem=problem)


def _refusals(
    flow: SourceAndTarget, severity: Severity, connector: str, refusals: tuple[str, ...]
) -> list[Finding]:
    """Java runs the flow without that connector (C112): a way to switch checkpoints off."""
    message = f"flow {flow}: the {connector} connector will not run"
    return [_finding(severity, ConfigError(f"{message}: {refusal}")) for refusal in refusals]


def _unchecked(flow: SourceAndTarget, sql: Collection[str]) -> list[Finding]:
    """Expressions are Spark's, whose JVM does not run when a file is looked at."""
    if not sql:
        return []
    names = ", ".join(f"{SQL}{name}" for name in sql)
    message = f"flow {flow}: {names} unchecked here: Spark checks SQL when the flow starts"
    return [_finding(Severity.NOTE, ConfigError(message))]


def _about_keys(file: PropertiesFile, clusters: Collection[str]) -> list[Finding]:
    """Keys that nobody reads, spellings of another age, and flow keys whose text is wrong."""
    found: list[Finding] = []
    targets = _targets(file, clusters)
    for written, value in file.values.items():
        hint = classify_key(written, tuple(clusters), targets)
        found += _advised(written, value, hint)
        if hint.key is not None and "${" not in value:
            found += _mistyped(written, value, hint.key)
    return found


def _targets(file: PropertiesFile, clusters: Collection[str]) -> tuple[str, ...]:
    return tuple(
        target
        for target in clusters
        if any(lenient_boolean(file.values.get(f"{each}->{target}.enabled")) for each in clusters)
    )


def _advised(written: str, value: str, hint: KeyHint) -> Iterator[Finding]:
    if hint.message is not None:
        severity = Severity.NOTE if hint.read else Severity.WARNING
        if hint.wrong:
            severity = Severity.ERROR
        problem = ConfigError(
            f"{written}: {hint.message}",
            key=written,
            value=shown(written, value),
            suggestion=hint.suggestion,
        )
        yield _finding(severity, problem)


def _mistyped(written: str, value: str, key: Key) -> Iterator[Finding]:
    try:
        key.parse(value)
    except ConfigError as error:
        setting = Setting(value, written, "")
        yield _finding(Severity.ERROR, with_written_key(error, {key.name: setting}))


def in_order(found: list[Finding], file: PropertiesFile) -> list[Finding]:
    """By line, each once, the graver of two alike; lines filled in, no resolved values in them."""
    unique: dict[tuple[str | None, str], Finding] = {}
    for finding in sorted(found, key=lambda f: list(Severity).index(f.severity)):
        problem = as_written(with_line(finding.problem, file.lines), file.values)
        located = Finding(severity=finding.severity, problem=problem)
        unique.setdefault((problem.key, problem.message), located)
    return sorted(unique.values(), key=lambda f: by_line(f.problem))
