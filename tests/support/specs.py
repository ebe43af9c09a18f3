"""A bundle's specification for tests in which its clusters and topics do not matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.protocol.bundle_spec import BundleSpec

_PLAIN: Final = BundleSpec(
    flow=SourceAndTarget(ClusterAlias("A"), ClusterAlias("B")),
    index=0,
    epoch=1,
    source={},
    target={},
    transactional_id="t",
    offsets_topic="o",
    control_topic="c",
    progress_topic="p",
)


def sample_spec(**changes: Any) -> BundleSpec:
    """The first bundle of ``A->B``, with changes."""
    return replace(_PLAIN, **changes)
