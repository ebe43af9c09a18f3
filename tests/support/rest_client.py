"""A client of Connect's REST interface."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any


class RestClient:
    """
    Asks a worker on this machine.

    Args:
        port: where it listens.
    """

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """What it answers; a refusal or no answer is "not yet" to those who wait."""
        request = urllib.request.Request(
            self._url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{error.code}: {error.read().decode()}") from error
        except OSError as error:
            raise AssertionError(str(error)) from error

    def text(self, path: str, accept: str = "*/*") -> str:
        """What it answers to a browser, or to Prometheus."""
        request = urllib.request.Request(self._url + path, headers={"Accept": accept})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return str(answer.read().decode())
        except OSError as error:
            raise AssertionError(str(error)) from error

    def state(self, name: str) -> str:
        """A connector's state."""
        return str(self.ask("GET", f"/connectors/{name}/status")["connector"]["state"])
