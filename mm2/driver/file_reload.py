"""What SIGHUP asks for: the file read again, all of it checked, and what is different in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mm2.config.checks.findings import Severity
from mm2.config.flow_config import FlowConfig
from mm2.config.keys.effects import Effect
from mm2.config.live_changes import change_between
from mm2.config.text.properties import load
from mm2.driver.file_validation import validate
from mm2.driver.flows_of_file import load_flows
from mm2.errors import ConfigError, ConfigErrors


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """
    What a file says that it did not say before.

    Attributes:
        added: flows that are new.
        removed: flows that are gone, as they were.
        changed: flows that are to be otherwise, as they are to be.
        of_process: keys that only a new start of the process reads.
    """

    added: tuple[FlowConfig, ...]
    removed: tuple[FlowConfig, ...]
    changed: tuple[FlowConfig, ...]
    of_process: tuple[str, ...]

    def names(self) -> dict[str, list[str]]:
        """The flows that are not as they were, for the log."""
        lists = {"added": self.added, "removed": self.removed, "changed": self.changed}
        return {name: [str(each.flow) for each in flows] for name, flows in lists.items()}


def read_again(path: Path, clusters: Sequence[str] | None) -> list[FlowConfig]:
    """
    The flows of a file that is to replace the one which runs.

    A start is content with what can be run in part; here everything must be right, because there
    is something to keep.

    Raises:
        ConfigErrors: everything that is wrong with the file, together.
    """
    try:
        found = validate(load(path))
        if wrong := [each.problem for each in found if each.severity is Severity.ERROR]:
            raise ConfigErrors(wrong)
        return load_flows(path, clusters)
    except ConfigError as error:
        raise ConfigErrors([error]) from error


def file_change(before: Iterable[FlowConfig], after: Iterable[FlowConfig]) -> FileChange:
    """The difference between the flows that run and those of a file."""
    old = {config.flow: config for config in before}
    new = {config.flow: config for config in after}
    both = [(old[flow], config) for flow, config in new.items() if flow in old]
    changes = [(config, change_between(was, config)) for was, config in both]
    of_process = {key for _, change in changes for key in change.of_process}
    return FileChange(
        added=tuple(config for flow, config in new.items() if flow not in old),
        removed=tuple(config for flow, config in old.items() if flow not in new),
        changed=tuple(config for config, change in changes if change.effects - {Effect.PROCESS}),
        of_process=tuple(sorted(of_process)),
    )
