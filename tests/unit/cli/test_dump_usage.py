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
        (
            ("heartbeats", "--config", "x", "--command-property", "a=b"),
            "--command-property belongs to --bootstrap-server.",
        ),
        (("heartbeats", *SERVER, "--command-property", "a"), "write KEY=VALUE."),
        (("heartbeats", *SERVER, "--command-property", "=b"), "write KEY=VALUE."),
        (
            ("heartbeats", *SERVER, "--command-property", "security.protocol=WRONG"),
            "security.protocol",
        ),
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


def test_a_property_counts_more_than_the_file_and_the_last_of_several_most(
    tmp_path: Path,
) -> None:
    file = tmp_path / "client.properties"
    file.write_text("security.protocol = WRONG\n")

    def said(*protocols: str) -> str:
        words = ["dump", "orders", *SERVER, "--command-config", str(file)]
        for protocol in protocols:
            words += ["--command-property", f"security.protocol = {protocol}"]
        return CliRunner().invoke(main, words).stderr

    of_topic = "does not say what it holds"
    assert "WRONG" in said()
    assert of_topic in said("PLAINTEXT")
    assert of_topic in said("OTHER", "PLAINTEXT")
    assert "OTHER" in said("PLAINTEXT", "OTHER")


def test_a_cluster_that_the_file_does_not_know_is_wrong_usage(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(TWO_CLUSTERS_TEXT)
    words = ["dump", "heartbeats", "--config", str(file), "--cluster", "C"]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, "has no cluster C; it has A, B." in result.stderr) == (2, True)
