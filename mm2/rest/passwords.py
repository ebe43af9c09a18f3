"""Who may use the interface: HTTP basic authentication against a file of names and passwords."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mm2.config.keys.keys_top import REST_PASSWORDS
from mm2.config.text.properties import load
from mm2.errors import ConfigError

_SCHEME: Final = "basic"


class Passwords:
    """Those who may use the interface; does not print them."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = {name.encode(): password.encode() for name, password in known.items()}

    @classmethod
    def of_file(cls, path: str) -> Passwords:
        """
        Reads the file, a line ``name=password`` for each.

        Raises:
            ConfigError: it cannot be read, or names nobody.
        """
        try:
            known = load(Path(path)).values
        except ConfigError as error:
            raise _about_file(path, str(error)) from error
        if not known:
            raise _about_file(path, "it holds no line name=password")
        return cls(known)

    def admits(self, header: str | None) -> bool:
        """Whether an ``Authorization`` header names somebody with the right password."""
        scheme, _, credentials = (header or "").partition(" ")
        if scheme.lower() != _SCHEME:
            return False
        try:
            decoded = base64.b64decode(credentials.strip(), validate=True)
        except ValueError:
            return False
        name, _, password = decoded.partition(b":")
        # Compared for names that are not known, too, so that the time does not tell them.
        return hmac.compare_digest(self._known.get(name, b""), password) and name in self._known


def _about_file(path: str, what: str) -> ConfigError:
    message = f"{REST_PASSWORDS}: {path} cannot be used: {what}"
    return ConfigError(message, key=REST_PASSWORDS, value=path)
