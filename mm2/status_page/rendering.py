"""Renders the page and its parts; every value is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from mm2 import __version__
from mm2.config.pages.explain import Section
from mm2.core.amounts import UNKNOWN, bytes_text, count_text
from mm2.core.display_text import node_text
from mm2.core.model import SourceAndTarget
from mm2.core.status_page.sample_history import MEASURES, SampleHistory
from mm2.core.status_page.topology_layout import TopologyLayout, lay_out
from mm2.core.times import age_text
from mm2.status_page.flow_cards import FlowCard, most_telling, worst
from mm2.status_page.watched_groups import FlowGroups
from mm2.telemetry.events import EVENTS
from mm2.telemetry.recent_events import RecentEvent

_WIDE: Final = 760
_NARROW: Final = 350
_PAIR: Final = 2
_SHORT_ALIAS: Final = 13
_HOUR_MS: Final = 3_600_000
_LABELLED: Final = 12
"""The arrows of more flows have no room for numbers."""


def render_page(sections: Mapping[str, str], **more: object) -> str:
    """The whole page, with parts that are rendered already."""
    return (
        _environment()
        .get_template("page.html")
        .render(sections=sections, version=__version__, **more)
    )


def render_summary(cards: Sequence[FlowCard]) -> str:
    """All flows in a sentence."""
    return _rendered("summary.html", cards=cards, health=worst(cards))


def render_topology(cards: Sequence[FlowCard]) -> str:
    """The picture of clusters and flows, once for wide and once for narrow screens."""
    by_flow: dict[SourceAndTarget, list[FlowCard]] = {}
    for card in cards:
        by_flow.setdefault(card.flow, []).append(card)
    flows = list(by_flow)
    count = len({alias for each in flows for alias in (each.source, each.target)})
    is_pair = count <= _PAIR
    layouts: dict[str, TopologyLayout] = {
        "wide": lay_out(flows, width=_WIDE, height=190 if is_pair else 420),
        "narrow": lay_out(flows, width=_NARROW, height=360 if is_pair else 470),
    }
    return _rendered(
        "topology.html",
        layouts=layouts,
        cards={flow: most_telling(found) for flow, found in by_flow.items()},
        has_labels=len(flows) <= _LABELLED,
    )


def render_flows(cards: Sequence[FlowCard]) -> str:
    """A card for each flow, with its topics."""
    return _rendered("flows.html", cards=cards)


def render_figures(cards: Sequence[FlowCard], history: SampleHistory, now_ms: int) -> str:
    """The plots' last hour as a table, for those who do not see plots."""
    measures = [
        (
            measure,
            {card.name: history.summary(card.name, measure, now_ms - _HOUR_MS) for card in cards},
        )
        for measure in MEASURES
    ]
    return _rendered("figures.html", measures=measures)


def render_groups(flows: Sequence[FlowGroups]) -> str:
    """The consumer groups of each flow."""
    return _rendered("groups.html", flows=flows)


def render_events(events: Sequence[RecentEvent]) -> str:
    """Events, the newest first, each with what it means."""
    return _rendered("events.html", events=events, meanings=EVENTS)


def render_config(flows: Sequence[tuple[str, Sequence[Section]]], problems: Sequence[str]) -> str:
    """The settings of each flow, with their origins."""
    return _rendered("configuration.html", flows=flows, problems=problems)


def _rendered(template: str, **values: object) -> str:
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("mm2.status_page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.filters |= {"count": count_text, "bytes": bytes_text, "age": _age}
    found.filters |= {"short": _short, "node": node_text}
    return found


def _age(age_ms: int | None) -> str:
    return UNKNOWN if age_ms is None else age_text(max(0, age_ms))


def _short(name: str) -> str:
    """A name that fits into a box of the picture."""
    return name if len(name) <= _SHORT_ALIAS else f"{name[: _SHORT_ALIAS - 1]}…"
