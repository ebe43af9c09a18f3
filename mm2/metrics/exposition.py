"""
Series with their samples, and Prometheus' text format 0.0.4, written fast.

A node may have thousands of partitions with dozens of series each: labels are rendered once for
each partition, and lines are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, Literal, NamedTuple, TypeVar

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Kind = Literal["gauge", "counter"]
Value = float | None
"""None leaves the sample out."""

_T = TypeVar("_T")


class Labels(NamedTuple):
    """
    Labels of a sample.

    Attributes:
        text: as in Prometheus' format.
        values: by their names; may be any text.
    """

    text: str
    values: Mapping[str, str]


_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


@dataclass(frozen=True, slots=True)
class Series(Generic[_T]):
    """
    One name that is exported, for things of one sort.

    Attributes:
        name: in full, or what follows a prefix.
        doc: what it means; of our own writing.
        value: of one thing.
        kind: Prometheus' type. Java's counts are gauges, because JMX and its exporters say so.
    """

    name: str
    doc: str
    value: Callable[[_T], Value]
    kind: Kind = "gauge"

    def prefixed(self, prefix: str) -> Series[_T]:
        """The same with a longer name."""
        return replace(self, name=prefix + self.name)

    def named(self, name: str) -> Series[_T]:
        """The same under another name; counters are those that end as Prometheus wants it."""
        return replace(self, name=name, kind="counter" if name.endswith("_total") else "gauge")


@dataclass(frozen=True, slots=True)
class Family(Generic[_T]):
    """
    A series with the things that it is exported for.

    Attributes:
        things: each with its labels.
    """

    series: Series[_T]
    things: Sequence[tuple[Labels, _T]]

    def samples(self) -> Iterator[tuple[Labels, float]]:
        """The values of the things that have one."""
        value = self.series.value
        return (
            (labels, found) for labels, thing in self.things if (found := value(thing)) is not None
        )

    def text(self) -> str:
        """In Prometheus' format; empty if there is no sample."""
        name = self.series.name
        lines = [f"{name}{labels.text} {_number(value)}\n" for labels, value in self.samples()]
        head = f"# HELP {name} {self.series.doc}\n# TYPE {name} {self.series.kind}\n"
        return "".join([head, *lines]) if lines else ""


def families(
    table: Sequence[Series[_T]], things: Iterable[tuple[Labels, _T]]
) -> Iterator[Family[_T]]:
    """Several series of the same things; the samples of a name stay together."""
    kept = list(things)
    return (Family(each, kept) for each in table)


def labels_of(labels: Mapping[str, object]) -> Labels:
    """Labels with these values as text; what UTF-8 cannot have is replaced."""
    values = {name: _encodable(value) for name, value in labels.items()}
    pairs = (f'{name}="{value.translate(_ESCAPES)}"' for name, value in values.items())
    return Labels("{" + ",".join(pairs) + "}" if values else "", values)


def _encodable(value: object) -> str:
    # What UTF-8 cannot have would make the whole answer unreadable.
    return str(value).encode(errors="replace").decode()


def _number(value: float) -> str:
    return "+Inf" if value == float("inf") else str(value)
