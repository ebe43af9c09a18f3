"""Where clusters and flows are in the picture of the topology."""

from __future__ import annotations

import itertools

import pytest

from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.core.status_page.topology_layout import BOX_HEIGHT, BOX_WIDTH, Point, lay_out

SIZES = [(760, 190), (350, 360), (760, 420), (350, 470)]


def _flows(*pairs: tuple[str, str]) -> list[SourceAndTarget]:
    return [SourceAndTarget(ClusterAlias(a), ClusterAlias(b)) for a, b in pairs]


def _is_inside(point: Point, centre: Point, slack: float = 0.1) -> bool:
    across, down = abs(point.x - centre.x), abs(point.y - centre.y)
    return across < BOX_WIDTH / 2 - slack and down < BOX_HEIGHT / 2 - slack


def test_two_clusters_are_side_by_side_or_one_above_the_other() -> None:
    a, b = (each.centre for each in lay_out(_flows(("A", "B")), width=760, height=190).clusters)
    assert a.y == pytest.approx(b.y)
    assert a.x < b.x
    a, b = (each.centre for each in lay_out(_flows(("A", "B")), width=350, height=360).clusters)
    assert a.x == pytest.approx(b.x)
    assert a.y < b.y


def test_the_two_directions_between_clusters_are_apart() -> None:
    for width, height in SIZES:
        there, back = lay_out(_flows(("A", "B"), ("B", "A")), width=width, height=height).arrows
        assert abs(there.label.x - back.label.x) + abs(there.label.y - back.label.y) > 40


@pytest.mark.parametrize("count", [2, 3, 4, 6])
@pytest.mark.parametrize(("width", "height"), SIZES[2:])
def test_boxes_are_in_the_picture_and_no_two_at_one_place(
    count: int, width: int, height: int
) -> None:
    names = [f"c{number}" for number in range(count)]
    layout = lay_out(_flows(*itertools.pairwise(names)), width=width, height=height)
    for box in layout.clusters:
        assert BOX_WIDTH / 2 <= box.centre.x <= width - BOX_WIDTH / 2
        assert BOX_HEIGHT / 2 <= box.centre.y <= height - BOX_HEIGHT / 2
    for one, other in itertools.combinations(layout.clusters, 2):
        assert one.centre != other.centre


def test_arrows_go_from_edge_to_edge() -> None:
    flows = _flows(("A", "B"), ("B", "C"), ("C", "A"), ("A", "C"))
    layout = lay_out(flows, width=760, height=420)
    centres = {box.alias: box.centre for box in layout.clusters}
    for arrow in layout.arrows:
        for end in (arrow.begin, arrow.end):
            assert not any(_is_inside(end, centre) for centre in centres.values())
        assert arrow.path.startswith(f"M {arrow.begin.x:.1f} {arrow.begin.y:.1f} Q ")


def test_a_picture_of_nothing_is_empty() -> None:
    layout = lay_out([], width=760, height=190)
    assert (layout.clusters, layout.arrows) == ((), ())
