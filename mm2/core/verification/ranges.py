"""
Which parts of both logs are compared with each other.

Exact offset translation says which offset of the remote partition belongs to one of the source.
Where it does, a partition is divided, so that several tasks compare it at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from mm2.core.verification.stream_comparison import ComparisonRules

CHUNK: Final = 1_000_000
"""Source offsets of one part."""

SAMPLE: Final = 10_000
"""Source offsets of one part of a sample."""

SAMPLES: Final = 3
"""Parts of a sample that are drawn at random, beside those at both ends."""

Translate: TypeAlias = Callable[[int], int | None]
"""The remote offset that belongs exactly to a source offset; None if that is not known."""

Draw: TypeAlias = Callable[[int, int], int]
"""A number at random that is not less than the first one, and less than the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRange:
    """
    One part of a partition.

    Attributes:
        source: offsets of the source, from the first to the one behind the last.
        remote: offsets of the remote partition, in the same way.
    """

    source: tuple[int, int]
    remote: tuple[int, int]
    rules: ComparisonRules

    @property
    def size(self) -> int:
        """Offsets of both sides."""
        return self.source[1] - self.source[0] + self.remote[1] - self.remote[0]


def divided(whole: ComparedRange, translate: Translate, chunk: int = CHUNK) -> list[ComparedRange]:
    """A partition in parts of about ``chunk`` source offsets, as far as these can be translated."""
    cuts = [whole.source[0], *_cuts(whole, translate, chunk), whole.source[1]]
    remote = [whole.remote[0], *(_known(translate, at) for at in cuts[1:-1]), whole.remote[1]]
    parts = []
    for at in range(len(cuts) - 1):
        is_first, is_last = at == 0, at == len(cuts) - 2
        rules = replace(
            whole.rules,
            open_source_start=whole.rules.open_source_start and is_first,
            open_remote_start=whole.rules.open_remote_start and is_first,
            pending_from=whole.rules.pending_from if is_last else None,
        )
        pair = (cuts[at], cuts[at + 1]), (remote[at], remote[at + 1])
        parts.append(ComparedRange(source=pair[0], remote=pair[1], rules=rules))
    return parts


def _cuts(whole: ComparedRange, translate: Translate, chunk: int) -> Iterator[int]:
    pending, before = whole.rules.pending_from, whole.remote[0]
    end = whole.source[1] if pending is None else min(pending, whole.source[1])
    for at in range(whole.source[0] + chunk, end, chunk):
        found = translate(at)
        if found is not None and before <= found <= whole.remote[1]:
            yield at
            before = found


def _known(translate: Translate, offset: int) -> int:
    found = translate(offset)
    assert found is not None  # noqa: S101 - it was before
    return found


def sampled(
    whole: ComparedRange, translate: Translate, draw: Draw, size: int = SAMPLE
) -> list[ComparedRange]:
    """
    The beginning of a partition, its end, and some parts between that are drawn at random.

    What cannot be translated is not drawn. Nothing is left out of a small partition.
    """
    first, end = whole.source
    if end - first <= (SAMPLES + 2) * size:
        return [whole]
    parts = [_head(whole, translate, size), _tail(whole, translate, size)]
    starts = sorted(draw(first + size, end - 2 * size) for _ in range(SAMPLES))
    for start in starts:
        here, there = translate(start), translate(start + size)
        if here is not None and there is not None and here <= there <= whole.remote[1]:
            rules = ComparisonRules(tolerates_compaction=whole.rules.tolerates_compaction)
            source = start, start + size
            parts.append(ComparedRange(source=source, remote=(here, there), rules=rules))
    return sorted(parts, key=lambda part: part.source)


def _head(whole: ComparedRange, translate: Translate, size: int) -> ComparedRange:
    end = whole.source[0] + size
    exact = translate(end)
    remote = min(whole.remote[1], whole.remote[0] + 2 * size) if exact is None else exact
    rules = replace(whole.rules, open_end=exact is None, pending_from=None)
    return replace(
        whole,
        source=(whole.source[0], end),
        remote=(whole.remote[0], max(whole.remote[0], remote)),
        rules=rules,
    )


def _tail(whole: ComparedRange, translate: Translate, size: int) -> ComparedRange:
    pending, end = whole.rules.pending_from, whole.source[1]
    start = (end if pending is None else min(pending, end)) - size
    exact = translate(start)
    remote = max(whole.remote[0], whole.remote[1] - size) if exact is None else exact
    rules = replace(whole.rules, open_source_start=exact is None, open_remote_start=exact is None)
    return replace(
        whole,
        source=(max(start, whole.source[0]), end),
        remote=(min(remote, whole.remote[1]), whole.remote[1]),
        rules=rules,
    )
