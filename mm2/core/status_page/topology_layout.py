"""
Where the picture of the topology has its clusters and flows.

Clusters are boxes on an ellipse. A flow is a curve that bows to the left of its direction, so that
both directions between two clusters are apart. Coordinates are those of SVG: y grows downwards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mm2.core.model import ClusterAlias, SourceAndTarget

BOX_WIDTH: Final = 132
BOX_HEIGHT: Final = 48
_MARGIN: Final = 8
_BOW: Final = 0.3
"""How far a curve's control point is away from the straight line, by the line's length."""

_MOST_BOW: Final = 56.0
_LABEL_AT: Final = 0.4
"""A label is nearer to the source, so that those of both directions are apart."""

_HEAD: Final = 5.0
"""A curve ends so long before its cluster, for the head of the arrow."""


@dataclass(frozen=True, slots=True)
class Point:
    """A place in the picture."""

    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterBox:
    """A cluster; ``centre`` is that of its box."""

    alias: ClusterAlias
    centre: Point


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowArrow:
    """
    A flow as a quadratic Bézier curve.

    Attributes:
        begin: at the edge of the source's box.
        end: at the edge of the target's box.
        label: where the middle of its text goes, on the curve.
    """

    flow: SourceAndTarget
    begin: Point
    control: Point
    end: Point
    label: Point

    @property
    def path(self) -> str:
        """The attribute ``d`` of SVG's ``path``."""
        points = (self.begin, self.control, self.end)
        begin, control, end = (f"{each.x:.1f} {each.y:.1f}" for each in points)
        return f"M {begin} Q {control} {end}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyLayout:
    """The picture: its size, and what is where."""

    width: int
    height: int
    clusters: tuple[ClusterBox, ...]
    arrows: tuple[FlowArrow, ...]


def lay_out(flows: Sequence[SourceAndTarget], *, width: int, height: int) -> TopologyLayout:
    """
    Places the clusters of flows, in the order in which the flows name them.

    Args:
        flows: each once.
        height: of the picture; higher than wide puts two clusters one above the other.
    """
    aliases = list(dict.fromkeys(alias for each in flows for alias in (each.source, each.target)))
    places = _places(len(aliases), width, height)
    centres = dict(zip(aliases, places, strict=True))
    return TopologyLayout(
        width=width,
        height=height,
        clusters=tuple(ClusterBox(alias=alias, centre=at) for alias, at in centres.items()),
        arrows=tuple(_arrow(each, centres[each.source], centres[each.target]) for each in flows),
    )


def _places(count: int, width: int, height: int) -> list[Point]:
    """The first on the left or, of more than two or in a high picture, at the top."""
    first = math.pi if count == 2 and width >= height else -math.pi / 2  # noqa: PLR2004
    across = width / 2 - BOX_WIDTH / 2 - _MARGIN
    down = height / 2 - BOX_HEIGHT / 2 - _MARGIN
    angles = (first + 2 * math.pi * number / count for number in range(count))
    return [
        Point(width / 2 + across * math.cos(angle), height / 2 + down * math.sin(angle))
        for angle in angles
    ]


def _arrow(flow: SourceAndTarget, source: Point, target: Point) -> FlowArrow:
    across, down = target.x - source.x, target.y - source.y
    length = math.hypot(across, down) or 1.0
    aside = Point(down / length, -across / length)
    bow = min(_BOW * length, _MOST_BOW)
    middle = Point((source.x + target.x) / 2, (source.y + target.y) / 2)
    control = Point(middle.x + aside.x * bow, middle.y + aside.y * bow)
    begin, end = _edge(source, control, 0), _edge(target, control, _HEAD)
    label = _on_curve(begin, control, end, _LABEL_AT)
    return FlowArrow(flow=flow, begin=begin, control=control, end=end, label=label)


def _on_curve(begin: Point, control: Point, end: Point, share: float) -> Point:
    weights = (1 - share) ** 2, 2 * share * (1 - share), share**2
    points = (begin, control, end)
    return Point(
        sum(weight * each.x for weight, each in zip(weights, points, strict=True)),
        sum(weight * each.y for weight, each in zip(weights, points, strict=True)),
    )


def _edge(centre: Point, towards: Point, beyond: float) -> Point:
    """Where a line from the centre of a box leaves it, and a little beyond."""
    across, down = towards.x - centre.x, towards.y - centre.y
    length = math.hypot(across, down) or 1.0
    to_side = BOX_WIDTH / 2 / abs(across) if across else math.inf
    to_top = BOX_HEIGHT / 2 / abs(down) if down else math.inf
    share = min(to_side, to_top, 1.0) + beyond / length
    return Point(centre.x + across * share, centre.y + down * share)
