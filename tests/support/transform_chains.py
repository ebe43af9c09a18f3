"""Chains of transforms made from properties, as files have them."""

from __future__ import annotations

from typing import Any

from mm2.config.transforms.chain_reading import read_transforms
from mm2.core.handled_records import SourceRecord
from mm2.core.transforms import TransformChain


def chain_of(properties: dict[str, str]) -> TransformChain:
    chain, mistakes = read_transforms(properties)
    assert mistakes == []
    assert chain is not None
    return chain


def one(kind: str, **options: str) -> TransformChain:
    """A chain of one transform; ``_`` stands for dots in the names of options."""
    below = {f"transforms.x.{name.replace('_', '.')}": value for name, value in options.items()}
    return chain_of({"transforms": "x", "transforms.x.type": kind, **below})


def record(**changes: Any) -> SourceRecord:
    fields = {"topic": "A.t", "partition": 3, "offset": 7, "timestamp": 1_700_000_000_123}
    return SourceRecord(**{**fields, "key": b"k", "value": b"v", **changes})


def value_after(chain: TransformChain, value: bytes | None) -> bytes | None:
    found = chain.apply(record(value=value))
    assert found is not None
    return found.value
