"""
The keys by which a client connects and proves who it is: Java's ``CLIENT_CONFIG_DEF``.

They are the ones that a cluster hands down to its producer, consumer and admin (C022, C023).
"""

from __future__ import annotations

from typing import Final

from mm2.config.keys.keys_connection import CONNECTION_KEYS
from mm2.config.keys.keys_oauth import OAUTH_KEYS
from mm2.config.keys.keys_sasl import SASL_KEYS
from mm2.config.keys.keys_tls import TLS_KEYS

SECURITY_KEYS: Final = (*CONNECTION_KEYS, *TLS_KEYS, *SASL_KEYS, *OAUTH_KEYS)
CLIENT_NAMES: Final = frozenset(key.name for key in SECURITY_KEYS)
"""The names that a cluster hands down to its clients: 66 in 4.3."""
