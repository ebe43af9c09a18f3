"""A real Prometheus that scrapes mirrors, and what it has of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final, Self
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import yaml

from mm2.demo.broker_settings import HOST, free_ports
from mm2.demo.processes import Watched

PROMETHEUS: Final = shutil.which("prometheus")
"""Where it is installed; None if it is not."""

_STOP_WITHIN_S: Final = 20.0


class Prometheus:
    """
    One that is started for a test or a picture; a context manager.

    Args:
        folder: for its file, its log and its data.
        targets: what it scrapes each second: host and port.
    """

    def __init__(self, folder: Path, *targets: str) -> None:
        assert PROMETHEUS is not None
        self._url = f"{HOST}:{free_ports(1)[0]}"
        file = folder / "prometheus.yml"
        job = {"job_name": "mm2", "static_configs": [{"targets": list(targets)}]}
        file.write_text(
            yaml.safe_dump({"global": {"scrape_interval": "1s"}, "scrape_configs": [job]})
        )
        self._command = [
            PROMETHEUS,
            f"--config.file={file}",
            f"--storage.tsdb.path={folder / 'prometheus'}",
            f"--web.listen-address={self._url}",
        ]
        self._log = folder / "prometheus.log"

    def __enter__(self) -> Self:
        self._process = Watched(self._command, self._log)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.end(timeout=_STOP_WITHIN_S)

    def ask(self, path: str, **parameters: object) -> Any:
        """
        The data of an answer of its HTTP API.

        Raises:
            AssertionError: it does not answer, or refuses; the message says why.
        """
        url = f"http://{self._url}/api/v1/{path}?{urlencode(parameters)}"
        try:
            with urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]
        except URLError as error:
            log = self._log.read_text(errors="replace")[-2000:]
            raise AssertionError(f"{url}: {error}\n{log}") from error

    def found(self, query: str) -> list[dict[str, Any]]:
        """The samples that a query finds now."""
        found: list[dict[str, Any]] = self.ask("query", query=query)["result"]
        return found
