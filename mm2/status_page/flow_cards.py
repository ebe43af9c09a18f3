"""What the page shows of a flow, from what is seen of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final, TypeAlias

from mm2.config.checks.failed_flows import FailedFlow
from mm2.config.text.expressions import hide
from mm2.core.connect.status_records import RunState
from mm2.core.first_copy import FirstCopyProgress, first_copy_progress
from mm2.core.model import SOURCE_CONNECTOR, SourceAndTarget
from mm2.core.status_page.sample_history import Sample
from mm2.errors import ClusterError
from mm2.herder.view.flow_problems import problems_of
from mm2.herder.view.flow_views import FlowView
from mm2.herder.view.topic_views import TopicView, flow_delay_ms, topics_of

MOST_TOPICS: Final = 100
"""So many topics of a flow are listed, those first that need a look."""


@dataclass(frozen=True, slots=True)
class RestingFlow:
    """
    A connector of a Connect worker that nobody runs, as operators want it.

    Attributes:
        state: in a word.
    """

    state: str


SeenFlow: TypeAlias = FlowView | RestingFlow | ClusterError | FailedFlow | None
"""A flow, or why its target cannot be asked, or why it cannot run; None: not known yet."""


class Health(StrEnum):
    """A flow in one word, for the eye; the page has a colour and a sign for each."""

    GOOD = "good"
    BEHIND = "behind"
    RESTING = "resting"
    BAD = "bad"
    UNKNOWN = "unknown"


_WORST_FIRST: Final = (
    Health.BAD,
    Health.UNKNOWN,
    Health.BEHIND,
    Health.GOOD,
    Health.RESTING,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowCard:
    """
    A flow as the page shows it.

    Attributes:
        flow: its clusters.
        name: tells it from all others: the flow's, or that of a Connect worker's connector.
        anchor: names it in the page's links; never made of what users have named.
        health: in one word.
        state: in words.
        problems: what is wrong, or good to know.
        view: what is seen of it; None if nothing is.
        progress: of all partitions; None if nobody has reported any.
        delay_ms: how late records arrive.
        topics: the first ones.
        more_topics: how many there are beside them.
    """

    flow: SourceAndTarget
    name: str
    anchor: str
    health: Health
    state: str
    problems: tuple[str, ...] = ()
    view: FlowView | None = None
    progress: FirstCopyProgress | None = None
    delay_ms: int | None = None
    topics: tuple[TopicView, ...] = ()
    more_topics: int = 0

    @property
    def is_of_connector(self) -> bool:
        """Whether its clusters are not its name."""
        return self.name != str(self.flow)

    @property
    def copies(self) -> bool:
        """Whether it is to copy records."""
        return self.view is not None and self.view.connector(SOURCE_CONNECTOR) is not None

    @property
    def sample(self) -> Sample:
        """Its numbers, for the history."""
        found = self.progress
        return Sample(
            bytes_per_s=None if found is None else found.bytes_per_s,
            lag=None if found is None else found.records_left,
            delay_ms=self.delay_ms,
        )


def flow_card(flow: SourceAndTarget, name: str, number: int, seen: SeenFlow) -> FlowCard:
    """
    A flow as the page shows it.

    Args:
        flow: its clusters.
        name: tells it from all others.
        number: among all flows of the page.
        seen: what is known.
    """
    card = partial(FlowCard, flow=flow, name=name, anchor=f"flow-{number}")
    match seen:
        case FlowView():
            return _seen(seen, card)
        case None:
            return card(health=Health.UNKNOWN, state="not known yet")
        case RestingFlow():
            return card(health=Health.RESTING, state=seen.state)
        case FailedFlow():
            problems = tuple(hide(str(each)) for each in seen.problems)
            return card(health=Health.BAD, state="cannot run", problems=problems)
        case ClusterError():
            problems = (hide(str(seen)),)
            return card(health=Health.BAD, state="target does not answer", problems=problems)


def _seen(view: FlowView, card: Callable[..., FlowCard]) -> FlowCard:
    is_reported = any(each.reported_ms is not None for each in view.partitions)
    progress = first_copy_progress(view.partitions) if is_reported else None
    topics = sorted(topics_of(view), key=_by_need)
    health = _health(view, progress)
    return card(
        health=health,
        state=_state(view, health),
        problems=tuple(hide(each) for each in problems_of(view)),
        view=view,
        progress=progress,
        delay_ms=flow_delay_ms(view, view.partitions),
        topics=tuple(topics[:MOST_TOPICS]),
        more_topics=max(0, len(topics) - MOST_TOPICS),
    )


def _health(view: FlowView, progress: FirstCopyProgress | None) -> Health:
    if not view.is_in_target_state or any(each.error for each in view.partitions):
        return Health.BAD
    if _copies_nothing(view) or view.state in {RunState.PAUSED, RunState.STOPPED}:
        return Health.RESTING
    return Health.BEHIND if progress is not None and progress.is_behind else Health.GOOD


def _state(view: FlowView, health: Health) -> str:
    if _copies_nothing(view) and health is Health.RESTING:
        return "heartbeats only"
    return "catching up" if health is Health.BEHIND else view.state.value.lower()


def _copies_nothing(view: FlowView) -> bool:
    has_source = view.connector(SOURCE_CONNECTOR) is not None
    return not has_source and not view.is_run_by_java and not view.is_of_connector


def _by_need(topic: TopicView) -> tuple[bool, bool, int, str]:
    """Those that stand, then those that are behind, the most first; the others by name."""
    progress = topic.progress
    behind = progress.records_left if progress.is_behind else 0
    return not topic.errors, not progress.is_behind, -behind, topic.topic


def worst(cards: Sequence[FlowCard]) -> Health:
    """The health of all flows together."""
    return min((card.health for card in cards), key=_WORST_FIRST.index, default=Health.RESTING)


def most_telling(cards: Iterable[FlowCard]) -> FlowCard:
    """Of connectors between the same clusters the worst, and first one that copies records."""
    return min(cards, key=lambda each: (_WORST_FIRST.index(each.health), each.progress is None))
