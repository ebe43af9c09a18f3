"""Commands name the clusters that do not answer, soon, and with status 3."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mm2.cli.mm2 import main
from mm2.kafka.flow_clusters import check_reachable


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_reachable.__kwdefaults__ is not None
    monkeypatch.setitem(check_reachable.__kwdefaults__, "within_s", 1.0)


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, str]]:
    """Of two clusters: one refuses connections, the other one takes them and is silent."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield {"A": "127.0.0.1:1", "B": f"127.0.0.1:{server.getsockname()[1]}"}


@pytest.mark.parametrize(
    "words",
    [
        "status FILE",
        "flows show FILE",
        "sync-groups FILE",
        "sync-groups FILE --back A->B",
        "config explain FILE --live",
    ],
)
def test_of_each_cluster_is_said_that_it_does_not_answer(
    words: str, servers: dict[str, str], tmp_path: Path
) -> None:
    done = _run(words.split(), servers, tmp_path)
    assert done.exit_code == 3, done.output
    assert "cluster A: no answer: 127.0.0.1:1 refuses connections" in done.stderr
    assert f"cluster B: ask for its id: no answer from {servers['B']} within 1 s" in done.stderr


@pytest.mark.parametrize(
    ("words", "cluster"),
    [
        ("dump heartbeats --config FILE --cluster B", "B"),
        ("dump heartbeats --config FILE --cluster B --follow", "B"),
        ("groups FILE --flow A->B", "B"),
        ("groups FILE --flow B->A", "A"),
    ],
)
def test_a_cluster_that_is_needed_and_does_not_answer_is_named(
    words: str, cluster: str, servers: dict[str, str], tmp_path: Path
) -> None:
    done = _run(words.split(), servers, tmp_path)
    assert done.exit_code == 3, done.output
    says = {
        "A": "cluster A: no answer: 127.0.0.1:1 refuses connections",
        "B": f"cluster B: ask for its id: no answer from {servers['B']} within 1 s",
    }
    assert says[cluster] in done.stderr


def _run(words: list[str], servers: dict[str, str], folder: Path) -> Result:
    file = folder / "mm2.properties"
    file.write_text(
        "clusters = A, B\nA->B.enabled = true\nB->A.enabled = true\n"
        f"A.bootstrap.servers = {servers['A']}\nB.bootstrap.servers = {servers['B']}\n"
    )
    arguments = [str(file) if word == "FILE" else word for word in words]
    return CliRunner().invoke(main, arguments)
