"""
A short name for what a flow's configuration says, to see whether two nodes have the same.
"""

from __future__ import annotations

import hashlib
import json
from typing import Final

from mm2.config.flow_settings import FlowConfig
from mm2.config.text.redact import redacted

_LENGTH: Final = 16


def config_digest(config: FlowConfig) -> str:
    """
    Names what counts for a flow, as its file has it: the same words make the same name.

    Secrets leave no trace in it, and neither does what belongs to a machine (``spark.*``).
    """
    parts = (
        config.worker,
        config.source.properties,
        config.checkpoint.properties,
        config.heartbeat.properties,
    )
    text = json.dumps([sorted(redacted(part).items()) for part in parts])
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]
