"""A bundle's specification for tests in which its clusters and topics do not matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from mm2.config.connector_settings import ErrorSettings, GapSettings
from mm2.config.record_clients import DataSettings
from mm2.protocol.bundle_spec import BundleSpec
from tests.support.configs import A_TO_B, flow_of

_DEFAULTS: Final = flow_of()


def data_settings(**changes: Any) -> DataSettings:
    """How records are read and written without a word of the user, and fetched sooner."""
    return replace(_DEFAULTS.data, **{"fetch_wait_ms": 100, **changes})


def error_settings(**changes: Any) -> ErrorSettings:
    """What becomes of refused records without a word of the user, with changes."""
    return replace(_DEFAULTS.source.errors, **changes)


def gap_settings(**changes: Any) -> GapSettings:
    """What is done about gaps without a word of the user, with changes."""
    return replace(_DEFAULTS.source.gaps, **changes)


_PLAIN: Final = BundleSpec(
    flow=A_TO_B,
    index=0,
    epoch=1,
    source={},
    target={},
    transactional_id="t",
    offsets_topic="o",
    control_topic="c",
    progress_topic="p",
    data=data_settings(),
    gaps=gap_settings(),
    errors=error_settings(),
)


def sample_spec(**changes: Any) -> BundleSpec:
    """The first bundle of ``A->B``, with changes."""
    return replace(_PLAIN, **changes)
