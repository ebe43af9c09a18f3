"""Which keys of a flow may be altered while its file stays as it is, and what they stand for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from mm2.config.checks.client_override_policy import ALLOWLIST_KEY, POLICY_KEY
from mm2.config.checks.key_lint import is_of_worker
from mm2.config.checks.long_values import CHANGE_FILE, too_long
from mm2.config.credentials import is_of_connection
from mm2.config.flow_config import FlowConfig
from mm2.config.keys.effects import Effect, Effects
from mm2.config.keys.key_aliases import canonical_key
from mm2.config.keys.key_types import java_trim
from mm2.config.keys.keys_top import REST_PROVIDERS
from mm2.config.live_changes import effects_in_connector, effects_in_worker, is_of_process
from mm2.config.text.expressions import expressions
from mm2.config.text.redact import shown
from mm2.core.model import SourceAndTarget
from mm2.errors import ConfigError

_PROVIDERS: Final = "config.providers"


def file_key(flow: SourceAndTarget, key: str) -> str:
    """The key of a file that an altered key stands for."""
    return f"{flow.target}.{key}" if is_of_worker(key) else f"{flow}.{key}"


def effects_of_key(key: str) -> Effects:
    """What follows when a key is altered, in whatever spelling."""
    if is_of_worker(key):
        return effects_in_worker(key)
    read = canonical_key(key)
    return frozenset({Effect.NONE}) if read is None else effects_in_connector(read)


def fixed_keys(config: FlowConfig, changes: Mapping[str, str | None]) -> dict[str, ConfigError]:
    """What cannot be altered whatever else is written, by key."""
    fixed = {key: problem for key in changes if (problem := _fixed(config.flow, key))}
    left = {key: value for key, value in changes.items() if key not in fixed}
    # A leader reads them on the event loop. What it has it keeps, however much that is together.
    fixed |= too_long(left, CHANGE_FILE, most_together=math.inf)
    for key in left.keys() - fixed.keys():
        if problem := _reads_secrets(config, key, changes[key]):
            fixed[key] = problem
    return fixed


def _reads_secrets(config: FlowConfig, key: str, value: str | None) -> ConfigError | None:
    """
    A new expression of a config provider, which could show a secret under a key that is not one.

    The file's own value of a key may come back; and the file may take all of them.
    """
    name = file_key(config.flow, key)
    if value is None or next(expressions(value), None) is None:
        return None
    file = {} if config.maker is None else config.maker.raw
    takes_all = java_trim(file.get(REST_PROVIDERS, "")).lower() == "true"
    if takes_all or value in {file.get(name), file.get(key)}:
        return None
    message = (
        f"{key} = {shown(key, value)}: expressions of config providers are taken from the file"
        f" alone: write the value, change the file, or have the file say {REST_PROVIDERS} = true"
    )
    return ConfigError(message, key=name)


def _fixed(flow: SourceAndTarget, key: str) -> ConfigError | None:
    name = file_key(flow, key)
    if is_of_process(key):
        message = f"{key} belongs to the process: change the file, and start the process again"
    elif Effect.FIXED in effects_of_key(key):
        message = f"{key} says which flow this is, and cannot be altered"
    elif is_of_connection(key):
        message = f"{key} says where to connect or how to log in: change the file, and send SIGHUP"
    elif key.startswith(_PROVIDERS):
        message = f"{key} says how secrets are read: change the file, and send SIGHUP"
    elif key in {POLICY_KEY, ALLOWLIST_KEY}:
        message = f"{key} says what may be altered: change the file, and send SIGHUP"
    else:
        return None
    return ConfigError(message, key=name)
