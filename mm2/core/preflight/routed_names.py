"""Where routers send the records of a topic, as far as names tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mm2.core.model import TopicName
from mm2.core.topics.own_topics import OwnTopics
from mm2.core.transforms import Step, TransformChain
from mm2.core.transforms.predicates import HasHeaderKey
from mm2.core.transforms.routers import Filter, RegexRouter, TimestampRouter
from mm2.errors import PatternTimeout, TransformError

_SOME_TIME: Final = 1_700_000_000_000


def routed_names(chain: TransformChain | None, topic: TopicName) -> frozenset[TopicName]:
    """
    Every topic that records of a copy may go to; none if all of them are left out.

    What a record itself decides goes both ways. Times are in 2023.
    """
    names: set[str] = {topic}
    for step in () if chain is None else chain.steps:
        names = {made for name in names for made in _after(step, name)}
    own = OwnTopics()
    return frozenset(TopicName(name) for name in names if name == topic or not own.holds(name))


def goes_by_headers(chain: TransformChain | None) -> bool:
    """Whether headers decide what is left out, or goes elsewhere: they may end a circle."""
    return chain is not None and any(
        isinstance(step.transform, Filter | RegexRouter | TimestampRouter)
        and isinstance(step.predicate, HasHeaderKey)
        for step in chain.steps
    )


def _after(step: Step, name: str) -> Iterator[str]:
    try:
        if step.leaves(name):
            yield name
            return
        if step.predicate is not None and step.of_topic is None:
            yield name
        if isinstance(step.transform, RegexRouter):
            yield step.transform.name_of(name)
        elif isinstance(step.transform, TimestampRouter):
            yield step.transform.name_of(name, _SOME_TIME)
        elif not isinstance(step.transform, Filter):
            yield name
    except (PatternTimeout, TransformError):
        yield name  # such records stop their partition
