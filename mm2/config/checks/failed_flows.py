"""Flows of a file that something is wrong with, beside those that can run (C112)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mm2.config.flow_config import FlowReader
from mm2.config.flow_settings import FlowConfig
from mm2.config.keys.definition import by_line
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.model import SourceAndTarget
from mm2.errors import ConfigError, ConfigErrors


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedFlow:
    """
    A flow that cannot run.

    Attributes:
        is_enabled: whether it was to copy topics, and not just to write heartbeats.
        connector: its name, if it is a connector of a Connect worker; else empty.
    """

    flow: SourceAndTarget
    is_enabled: bool
    problems: Sequence[ConfigError]
    connector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowsOfFile:
    """The flows that a file asks for."""

    maker: MirrorMakerConfig
    flows: Sequence[FlowConfig]
    failed: Sequence[FailedFlow] = ()

    @classmethod
    def of(cls, maker: MirrorMakerConfig, wanted: Iterable[SourceAndTarget]) -> FlowsOfFile:
        """Reads each flow that is wanted; what is wrong with one leaves the others alone."""
        flows: list[FlowConfig] = []
        failed: list[FailedFlow] = []
        reader = FlowReader(maker)
        for flow in wanted:
            try:
                flows.append(reader.read(flow))
            except ConfigErrors as errors:
                failed.append(_failed(maker, flow, errors.problems))
        return cls(maker=maker, flows=flows, failed=failed)

    @property
    def problems(self) -> list[ConfigError]:
        """All that is wrong, once each, by line: flows share what is wrong with a cluster."""
        found = {str(problem): problem for each in self.failed for problem in each.problems}
        return sorted(found.values(), key=by_line)

    def without(self, flow: SourceAndTarget, problems: Sequence[ConfigError]) -> FlowsOfFile:
        """The same, with something wrong about one more flow."""
        return FlowsOfFile(
            maker=self.maker,
            flows=[each for each in self.flows if each.flow != flow],
            failed=[*self.failed, _failed(self.maker, flow, problems)],
        )

    def check_any_left(self) -> None:
        """
        Makes sure that there is something to do: not just heartbeats, if more was asked for.

        Raises:
            ConfigErrors: all that is wrong.
        """
        was_to_copy = any(each.is_enabled for each in self.failed)
        copies = any(self.maker.is_enabled(each.flow) for each in self.flows)
        if self.failed and not copies and (was_to_copy or not self.flows):
            raise ConfigErrors(self.problems)


def _failed(
    maker: MirrorMakerConfig, flow: SourceAndTarget, problems: Sequence[ConfigError]
) -> FailedFlow:
    return FailedFlow(flow=flow, is_enabled=maker.is_enabled(flow), problems=tuple(problems))
