"""A stand-in for Kubernetes' API: keeps what Spark's driver asks, and starts no pod."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_PATH = re.compile(r"/api/v1/namespaces/([^/?]+)/([^/?]+)(/[^/?]+)?(\?.*)?")
_KINDS = {
    "pods": "Pod",
    "configmaps": "ConfigMap",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "services": "Service",
}
_WATCH = "watch=true"


@dataclass
class FakeKubernetes:
    """
    Requests so far.

    Attributes:
        url: of the server.
        driver: the name of the pod that is there, and ready.
        asked: resource and verb, as a role names them.
        made: what was created.
    """

    url: str
    driver: str
    asked: set[tuple[str, str]] = field(default_factory=set)
    made: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def fake_kubernetes(driver: str) -> Iterator[FakeKubernetes]:
    """Serves until the context ends."""

    class Handler(_Handler):
        cluster = FakeKubernetes("", driver)
        ended = threading.Event()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Handler.cluster.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Handler.cluster
    finally:
        Handler.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cluster: FakeKubernetes
    ended: threading.Event

    def log_message(self, *_: object) -> None:
        """Nothing goes to standard error."""

    def do_GET(self) -> None:
        resource, name, is_watch = self._asked()
        verb = "watch" if is_watch else "get" if name else "list"
        self.cluster.asked.add((resource, verb))
        if is_watch:
            self._watch()
        elif name:
            self._answer(self._driver())
        else:
            items = (
                [self._driver()] if f"metadata.name%3D{self.cluster.driver}" in self.path else []
            )
            kind = f"{_KINDS[resource]}List"
            of_list = {"metadata": {"resourceVersion": "1"}, "items": items}
            self._answer({"apiVersion": "v1", "kind": kind, **of_list})

    def do_POST(self) -> None:
        resource, _, _ = self._asked()
        made = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.cluster.made.append(made)
        self.cluster.asked.add((resource, "create"))
        made = {**made, "metadata": {**made["metadata"], "uid": f"uid-{len(self.cluster.made)}"}}
        self._answer(made, HTTPStatus.CREATED)

    def do_DELETE(self) -> None:
        resource, name, _ = self._asked()
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.cluster.asked.add((resource, "delete" if name else "deletecollection"))
        self._answer({"apiVersion": "v1", "kind": "Status", "status": "Success"})

    def _asked(self) -> tuple[str, str | None, bool]:
        found = _PATH.fullmatch(self.path)
        assert found, self.path
        return found[2], found[3], _WATCH in (found[4] or "")

    def _driver(self) -> dict[str, Any]:
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        metadata = {"name": self.cluster.driver, "uid": "uid-0"}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": ready}

    def _watch(self) -> None:
        """A stream without events; not as a web socket, which clients ask for first."""
        if self.headers.get("Upgrade"):
            self._answer({})
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.ended.wait()

    def _answer(self, body: dict[str, Any], status: HTTPStatus = HTTPStatus.OK) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
