"""What a value must satisfy beyond its type: the validators of Kafka's ``ConfigDef``."""

from __future__ import annotations

from mm2.config.keys.definition import Check
from mm2.config.keys.key_types import Value
from mm2.core.topics.topic_name import KAFKAS_OWN, is_topic_name


def one_of(*allowed: str) -> Check:
    """Accepts exactly these words (``ConfigDef.ValidString``)."""
    return lambda value: None if value in allowed else f"must be one of {', '.join(allowed)}"


def one_of_any_case(*allowed: str) -> Check:
    """Accepts these words in any case (``ConfigDef.CaseInsensitiveValidString``)."""
    upper = {word.upper() for word in allowed}
    words = ", ".join(allowed)
    return lambda value: (
        None if str(value).upper() in upper else f"must be one of {words} (any case)"
    )


def between(low: float, high: float | None = None) -> Check:
    """Accepts numbers from ``low`` to ``high``, and what is no number (``ConfigDef.Range``)."""

    def check(value: Value) -> str | None:
        if not isinstance(value, int | float) or value < low:
            return f"must be at least {low}"
        return f"must be at most {high}" if high is not None and value > high else None

    return check


def own_topic(value: Value) -> str | None:
    """Accepts names of topics that a client may create and write."""
    if not is_topic_name(value):
        return "must be the name of a topic: at most 249 letters, digits, '.', '_' and '-'"
    return "must not be a topic that only brokers write" if value in KAFKAS_OWN else None


def items(*, empty_allowed: bool = True, allowed: tuple[str, ...] = ()) -> Check:
    """Accepts lists without empty items (C454, ``ConfigDef.ValidList``, KIP-1161)."""

    def check(value: Value) -> str | None:
        assert isinstance(value, tuple)  # noqa: S101 - only list keys carry this check
        if not value and not empty_allowed:
            return "the list must not be empty"
        if "" in value:
            return "the list has an empty item; remove the comma too many"
        wrong = [item for item in value if allowed and item not in allowed]
        return f"'{wrong[0]}' is none of {', '.join(allowed)}" if wrong else None

    return check
