"""Where the consumer groups of flows stand; asked seldom, as that reads whole topics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from mm2.client.group_status import GroupStatus
from mm2.config.flow_config import FlowConfig
from mm2.config.text.expressions import hide
from mm2.core.model import SourceAndTarget
from mm2.core.status_page.group_readiness import GroupReadiness, group_readiness
from mm2.errors import Mm2Error

EVERY_S: Final = 30.0
MOST_GROUPS: Final = 100
"""So many groups of a flow are listed, those first that are not ready."""

_WITHIN_S: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowGroups:
    """
    The groups of one flow.

    Attributes:
        flow: its name.
        groups: the first ones.
        more_groups: how many there are beside them.
        problems: what could not be asked.
        is_known: whether the groups were asked yet.
    """

    flow: SourceAndTarget
    groups: tuple[GroupReadiness, ...] = ()
    more_groups: int = 0
    problems: tuple[str, ...] = ()
    is_known: bool = True


class WatchedGroups:
    """
    The groups whose offsets the flows of a node translate.

    Args:
        configs: the flows as their file has them now, by their names.
    """

    def __init__(self, configs: Callable[[], Mapping[str, FlowConfig]]) -> None:
        self._configs = configs
        self._found: dict[str, FlowGroups] = {}

    def found(self) -> list[FlowGroups]:
        """The groups of each flow, as they were seen last."""
        return [
            self._found.get(name, FlowGroups(flow=config.flow, is_known=False))
            for name, config in self._configs().items()
            if config.checkpoint.runs
        ]

    async def look(self) -> None:
        """Asks where the groups of all flows stand, one flow after the other."""
        for name, config in self._configs().items():
            if config.checkpoint.runs:
                self._found[name] = await _groups_of(config)


async def _groups_of(config: FlowConfig) -> FlowGroups:
    try:
        async with asyncio.timeout(_WITHIN_S), GroupStatus.of(config) as status:
            found = group_readiness(await status.partitions(status.follows))
            missing = tuple(hide(f"{each.subject}: {each.reason}") for each in status.missing)
    except TimeoutError:
        return _unknown(config, f"no answer within {_WITHIN_S:g} s")
    except Mm2Error as error:
        return _unknown(config, hide(str(error)))
    return FlowGroups(
        flow=config.flow,
        groups=tuple(found[:MOST_GROUPS]),
        more_groups=max(0, len(found) - MOST_GROUPS),
        problems=missing,
    )


def _unknown(config: FlowConfig, reason: str) -> FlowGroups:
    return FlowGroups(flow=config.flow, problems=(reason,))
