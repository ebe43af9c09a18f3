"""``mm2 dump`` says what is wrong with how it was called."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from tests.support.configs import TWO_CLUSTERS_TEXT

SERVER = ("--bootstrap-server", "localhost:1")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("heartbeats",), "Say which cluster: --bootstrap-server, or --config with --cluster."),
        (("heartbeats", *SERVER, "--cluster", "A"), "--config and --cluster belong together."),
        (("heartbeats", *SERVER, "--config", "x"), "Say which cluster"),
        (("heartbeats", "--config", "x"), "--config and --cluster belong together."),
        (("heartbeats", "--config", "x", "--command-config", "y"), "belongs to --bootstrap-server"),
        (("heartbeats", *SERVER, "--follow", "--format", "json"), "use text or tsv"),
        (("heartbeats", *SERVER, "--from-end"), "--from-end prints nothing without --follow."),
        (("orders", *SERVER), "does not say what it holds; choose with --kind"),
        (("heartbeats", "--bootstrap-server", ""), "must not be empty"),
        (("heartbeats", *SERVER, "--command-config", "/no/such"), "cannot read /no/such"),
        (("heartbeats", "--config", "/no/such", "--cluster", "A"), "cannot read /no/such"),
    ],
)
def test_wrong_usage_is_explained(words: tuple[str, ...], told: str) -> None:
    result = CliRunner().invoke(main, ["dump", *words])
    assert result.exit_code == 2
    assert told in result.stderr


def test_all_problems_are_told_at_once() -> None:
    words = ["dump", "heartbeats", "--command-config", "y", "--from-end"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    for told in ("Say which cluster", "--command-config belongs", "--from-end prints nothing"):
        assert told in result.stderr


def test_a_cluster_that_the_file_does_not_know_is_wrong_usage(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(TWO_CLUSTERS_TEXT)
    words = ["dump", "heartbeats", "--config", str(file), "--cluster", "C"]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, "has no cluster C; it has A, B." in result.stderr) == (2, True)
